"""Vectors as they are, on a common scale."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.base import Backbone


class Identity(Backbone):
    """Standardise each feature with mean and deviation of the first task; flatten images.

    A feature that hardly varies in the first task may vary in later ones, so no deviation counts
    as less than a tenth of the average one.

    Parameters
    ----------
    scale
        ``"standard"``, ``"sample"`` (each sample to mean 0 and deviation 1) or ``"none"``
        (images of 8 bits, if the first are, become fractions of one).
    """

    name = "identity"
    dtype: ClassVar[torch.dtype] = torch.float64
    shift: Tensor
    factor: Tensor

    def __init__(self, scale: str = "standard") -> None:
        super().__init__()
        self.scale = scale
        self.register_buffer("shift", torch.empty(0))
        self.register_buffer("factor", torch.empty(0))

    def fit(self, X: np.ndarray, random: np.random.RandomState) -> None:
        """Take mean and deviation of each feature."""
        if self.scale not in ("standard", "sample", "none"):
            raise ClsnetError(f"unknown scale {self.scale!r}: use 'standard', 'sample' or 'none'.")
        Z = self.as_input(X)
        brightest = 255 if X.dtype == np.uint8 and X.ndim > 2 else 1
        self.shift, self.factor = torch.zeros_like(Z[0]), torch.ones_like(Z[0]) / brightest
        if self.scale == "standard":
            deviation = Z.std(dim=0, correction=0)
            floor = 0.1 * deviation.mean()
            self.shift = Z.mean(dim=0)
            self.factor = 1 / torch.where(deviation + floor > 0, deviation.maximum(floor), 1.0)

    def as_input(self, X: np.ndarray) -> Tensor:
        """Flatten each sample."""
        return super().as_input(X).flatten(1)

    def forward(self, X: Tensor) -> Tensor:
        """Shift and scale."""
        if self.scale == "sample":
            X = X - X.mean(dim=1, keepdim=True)
            return X / X.std(dim=1, keepdim=True, correction=0).clamp_min(1e-12)
        return (X - self.shift) * self.factor
