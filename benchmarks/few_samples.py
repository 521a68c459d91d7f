"""The first 100 samples of a large model, in the space that they span, over their Gram matrix.

In their span the ridge is found, too; the Gram matrix is factorised with that one only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clsnet.arrays.devices import Array, to_device
from clsnet.arrays.linalg import cholesky, double, solve_by_factor
from clsnet.classifier.ridge.normal_equations import NormalEquations
from clsnet.classifier.ridge.rule import regress
from timing import DEVICE, alternating, features, ratio, relative_difference

SIZE, SAMPLES, CLASSES = 10_000, 100, 10


def run() -> dict[str, Any]:
    A, y = features(SAMPLES, SIZE, CLASSES)
    A = double(A)
    cross = A.T @ to_device(np.eye(CLASSES)[y], DEVICE)
    ridge = regress(NormalEquations(None, cross, SAMPLES, A)).ridge
    found: dict[str, Array] = {}

    def spanned() -> None:
        found["span"] = regress(NormalEquations(None, cross, SAMPLES, A)).omega

    def multiplied() -> None:
        found["gram"] = solve_by_factor(cholesky(A.T @ A, ridge), cross)

    times = alternating({"span": spanned, "gram": multiplied}, rounds=3)
    figures = {
        "few_samples_over_gram": ratio(times["span"], times["gram"]),
        "few_samples_difference": relative_difference(found["span"], found["gram"]),
    }
    print(f"the first {SAMPLES} samples, D = {SIZE}: {figures}")
    return figures


def plot(found: dict[str, Any], draw: Any) -> None:
    draw.bars(
        "few_samples",
        f"The first {SAMPLES} samples, D = {SIZE}: time over that with a Gram matrix",
        {"in their span": found["few_samples_over_gram"], "Gram matrix": 1.0},
        reference=1.0,
    )


if __name__ == "__main__":
    run()
