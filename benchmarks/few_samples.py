"""The first 100 samples of a large model, in the space that they span, over their Gram matrix.

In their span the ridge is found, too; the Gram matrix is factorised with that one only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from clsnet.classifier.ridge.rule import Sums, regress
from timing import alternating, features, ratio

SIZE, SAMPLES, CLASSES = 10_000, 100, 10


def run() -> dict[str, Any]:
    A, y = features(SAMPLES, SIZE, CLASSES)
    A = A.double()
    cross = A.T @ torch.as_tensor(np.eye(CLASSES)[y]).to(A)
    ridge = regress(Sums(None, cross, SAMPLES, A)).ridge
    found: dict[str, torch.Tensor] = {}

    def spanned() -> None:
        found["span"] = regress(Sums(None, cross, SAMPLES, A)).omega

    def squared() -> None:
        gram = A.T @ A
        gram.diagonal().add_(ridge)
        found["gram"] = torch.cholesky_solve(cross, torch.linalg.cholesky(gram))

    times = alternating({"span": spanned, "gram": squared}, rounds=3)
    one, two = found["span"], found["gram"]
    figures = {
        "few_samples_over_gram": ratio(times["span"], times["gram"]),
        "few_samples_difference": float((one - two).norm() / two.norm()),
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
