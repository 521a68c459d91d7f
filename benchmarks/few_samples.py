"""The first 100 samples of a large model, in the space that they span, over their Gram matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from clsnet.classifier.ridge import Regression, Sums, regress
from timing import alternating, features, ratio

SIZE, SAMPLES, CLASSES = 10_000, 100, 10


def run() -> dict[str, Any]:
    A, y = features(SAMPLES, SIZE, CLASSES)
    A = A.double()
    cross = A.T @ torch.as_tensor(np.eye(CLASSES)[y]).to(A)
    found: dict[str, Regression] = {}

    def spanned() -> None:
        found["span"] = regress(Sums(None, cross, SAMPLES, A))

    def squared() -> None:
        found["gram"] = regress(Sums(A.T @ A, cross, SAMPLES))

    times = alternating({"span": spanned, "gram": squared}, rounds=3)
    one, two = found["span"].omega, found["gram"].omega
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
