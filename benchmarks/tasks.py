"""Many tasks over all data at once, with the features of ``--preset fast``.

Both sides multiply in float64, or both in float32.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeClassifier

from clsnet import CLSNet
from clsnet.arrays.devices import namespace, to_numpy
from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.rule import Rule
from clsnet.data import load_dataset
from clsnet.estimator.features import new_extractor
from timing import DEVICE, GPU, alternating, exponent, ratio

IMAGES, ROWS = 60_000 if GPU else 20_000, 4_096
TASKS = (1, 3, 10, 20)


@functools.cache
def represented() -> tuple[Any, np.ndarray]:
    """Return the features of images, sorted by class, and their labels."""
    data = load_dataset("FashionMNIST")
    X, y = data.X_train[:IMAGES], data.y_train[:IMAGES]
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    extractor = new_extractor(CLSNet(preset="fast"), X.shape[1:]).fit(X[::5], DEVICE)
    parts = [extractor.transform(X[i : i + ROWS]) for i in range(0, len(X), ROWS)]
    return namespace(*parts).concat(parts), y


def learn(n_tasks: int, each: bool = False, precision: str = "float64") -> AnalyticClassifier:
    """Learn everything in so many tasks; weights are solved for after each one, or at the end."""
    A, y = represented()
    classifier = AnalyticClassifier(Rule(precision=precision), A.shape[1], DEVICE)
    for rows in np.array_split(np.arange(len(y)), n_tasks):
        task = slice(rows[0], rows[-1] + 1)
        batches = [
            (A[task][i : i + ROWS], y[task][i : i + ROWS]) for i in range(0, len(rows), ROWS)
        ]
        classifier = classifier.observe(lambda batches=batches: batches)
        if each:
            classifier = classifier.consolidated()
    return classifier.consolidated()


def run() -> dict[str, Any]:
    A, y = represented()
    as_numpy = to_numpy(A)
    as_double = as_numpy.astype(np.float64)
    runs: dict[str, Callable[[], Any]] = {
        "ridge classifier": lambda: RidgeClassifier().fit(as_double, y),
        "ridge classifier, float32": lambda: RidgeClassifier().fit(as_numpy, y),
        "ten, weights after each": lambda: learn(10, each=True),
        "ten, float32 products": lambda: learn(10, precision="float32"),
        **{str(n): (lambda n=n: learn(n)) for n in TASKS},
    }
    times = alternating(runs, rounds=3, warm=GPU)
    medians = [statistics.median(times[str(n)]) for n in TASKS]
    found = {
        "ten_tasks_over_ridge_classifier": ratio(times["10"], times["ridge classifier"]),
        "ten_tasks_over_ridge_classifier_float32": ratio(
            times["ten, float32 products"], times["ridge classifier, float32"]
        ),
        "ten_tasks_with_weights_after_each_over_ridge_classifier": ratio(
            times["ten, weights after each"], times["ridge classifier"]
        ),
        "tasks_exponent": exponent(TASKS, medians),
        "tasks": list(TASKS),
        "tasks_time_over_one_task": [ratio(times[str(n)], times["1"]) for n in TASKS],
    }
    print(f"ten tasks over RidgeClassifier, D = {A.shape[1]}: {found}")
    return found


def plot(found: dict[str, Any], draw: Any) -> None:
    draw.lines(
        "tasks",
        f"Time of T tasks over one of the same data: T^{found['tasks_exponent']:.2f}",
        "tasks",
        {"learning": (found["tasks"], found["tasks_time_over_one_task"])},
    )


if __name__ == "__main__":
    run()
