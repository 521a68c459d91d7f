"""What the precision of products costs on ill-conditioned features, and buys in time."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from clsnet.classifier.analytic import TOTAL, AnalyticClassifier, Rule
from clsnet.classifier.ridge.factor import Factor
from clsnet.classifier.sums import PRECISIONS
from clsnet.data import load_dataset
from timing import DEVICE, GPU, seconds

SIZE = 10_000
IMAGES = 60_000 if GPU else 12_000
ROWS, RIDGE = 4_096, 1e-6


def run() -> dict[str, Any]:
    data = load_dataset("FashionMNIST")
    W = torch.randn(784, SIZE, generator=torch.Generator().manual_seed(0)) / 28

    def represent(X: np.ndarray) -> torch.Tensor:
        x = torch.from_numpy(X.reshape(len(X), -1)).float().to(DEVICE) / 255
        return torch.relu((x - 0.3) @ W.to(DEVICE))

    y = data.y_train[:IMAGES]
    A, tests = represent(data.X_train[:IMAGES]), represent(data.X_test)
    found: dict[str, Any] = {}
    expected = torch.zeros(0)
    for precision in PRECISIONS if GPU else ("float64", "float32", "bfloat16"):
        scores, times = [], []
        for order in (slice(None), slice(None, None, -1)):
            rows = torch.from_numpy(np.arange(IMAGES)[order].copy()).to(DEVICE)
            rule = Rule(precision=precision, ridge=RIDGE)
            blank = AnalyticClassifier(rule, SIZE, DEVICE)
            ordered, labels = A[rows], y[rows.cpu().numpy()]
            batches = [
                (ordered[i : i + ROWS], labels[i : i + ROWS]) for i in range(0, IMAGES, ROWS)
            ]
            learned = None

            def observe(blank=blank, batches=batches) -> None:
                nonlocal learned
                learned = blank.observe(lambda: batches)

            times.append(seconds(observe))
            trace = learned.traces[TOTAL]
            factor = Factor.of(trace.gram, RIDGE * float(trace.gram.diagonal().mean()))
            if factor is not None:
                scores.append(tests.double() @ factor.solve(trace.columns(range(10))))
        found[precision] = {"seconds": min(times), "positive_definite": len(scores) == 2}
        if len(scores) < 2:
            continue
        if precision == "float64":
            expected = scores[0]
        answers = scores[0].argmax(dim=1).cpu().numpy()
        found[precision] |= {
            "accuracy": float(np.mean(answers == data.y_test)),
            "scores_off_float64": float((scores[0] - expected).abs().max()),
            "scores_off_in_reverse_order": float((scores[0] - scores[1]).abs().max()),
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
