"""What the precision of products costs on ill-conditioned features, and buys in time."""

from __future__ import annotations

from typing import Any

import numpy as np

from clsnet.arrays.devices import Array, namespace, to_device, to_numpy
from clsnet.arrays.linalg import diagonal, double, take
from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.ridge.factor import Factor
from clsnet.classifier.rule import TOTAL, Rule
from clsnet.classifier.sums import PRECISIONS
from clsnet.data import load_dataset
from timing import DEVICE, GPU, seconds

SIZE = 10_000
IMAGES = 60_000 if GPU else 12_000
ROWS, RIDGE = 4_096, 1e-6


def run() -> dict[str, Any]:
    data = load_dataset("FashionMNIST")
    W = np.random.default_rng(0).standard_normal((784, SIZE), dtype=np.float32) / 28
    W = to_device(W, DEVICE)

    def represent(X: np.ndarray) -> Array:
        x = to_device(X.reshape(len(X), -1).astype(np.float32) / 255, DEVICE)
        return namespace(x).clip((x - 0.3) @ W, min=0)

    y = data.y_train[:IMAGES]
    A, tests = represent(data.X_train[:IMAGES]), represent(data.X_test)
    found: dict[str, Any] = {}
    expected: Array = None
    for precision in PRECISIONS if GPU else ("float64", "float32", "bfloat16"):
        scores, times = [], []
        for order in (slice(None), slice(None, None, -1)):
            rows = np.arange(IMAGES)[order].copy()
            rule = Rule(precision=precision, ridge=RIDGE)
            blank = AnalyticClassifier(rule, SIZE, DEVICE)
            ordered, labels = take(A, rows), y[rows]
            batches = [
                (ordered[i : i + ROWS], labels[i : i + ROWS]) for i in range(0, IMAGES, ROWS)
            ]
            learned = None

            def observe(blank=blank, batches=batches) -> None:
                nonlocal learned
                learned = blank.observe(lambda: batches)

            times.append(seconds(observe))
            trace = learned.traces[TOTAL]
            factor = Factor.of(trace.gram, RIDGE * float(diagonal(trace.gram).mean()))
            if factor is not None:
                scores.append(double(tests) @ factor.solve(trace.columns(range(10))))
        found[precision] = {"seconds": min(times), "positive_definite": len(scores) == 2}
        if len(scores) < 2:
            continue
        if precision == "float64":
            expected = scores[0]
        answers = to_numpy(scores[0]).argmax(axis=1)
        found[precision] |= {
            "accuracy": float(np.mean(answers == data.y_test)),
            "scores_off_float64": float(abs(scores[0] - expected).max()),
            "scores_off_in_reverse_order": float(abs(scores[0] - scores[1]).max()),
        }
    for row in found.values():
        row["time_over_float64"] = row["seconds"] / found["float64"]["seconds"]
    for row in found.values():
        del row["seconds"]
    for name, row in found.items():
        print(f"{name}: {row}")
    return {"precision": found, "precision_dimension": SIZE, "precision_images": IMAGES}


def plot(found: dict[str, Any], draw: Any) -> None:
    draw.bars(
        "precision",
        f"Time of Gram matrices over float64, D = {found['precision_dimension']}",
        {name: row["time_over_float64"] for name, row in found["precision"].items()},
        reference=1.0,
    )


if __name__ == "__main__":
    run()
