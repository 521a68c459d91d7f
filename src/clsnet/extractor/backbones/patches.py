"""Convolutions with whitened random patches: good features of small images, with no training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.base import Backbone
from clsnet.images.dead_leaves import dead_leaves

N_LEAVES = 500
N_PATCHES = 20_000
LEAST_VARIANCE = 1e-3
OVERLAP = 1.25


class Patches(Backbone):
    """Responses of contrast-normalised windows to whitened patches, both signs, pooled, rooted.

    A filter is a random patch, whitened (ZCA) twice over: once as a patch, once to undo the
    correlation of the windows it meets. A window's mean is removed by the filter, which sums to
    zero, and its contrast by dividing by its deviation. Positive and negative parts of the
    responses are averaged in overlapping cells, and the square root of that, less its mean over
    synthetic images, is a feature.

    Parameters
    ----------
    filters
        Number of filters of each size and contrast.
    sizes
        Side lengths of the patches, in pixels.
    contrast
        Variances below which a window counts as flat rather than as faint.
    pool
        Cells along each side of the image.
    mirror
        Average the features of the image and of its mirror image.
    source
        Where patches come from: ``"leaves"``, synthetic images, so that the map depends on no
        data but the brightest value of the first task, or ``"task"``, images of that task.
    """

    name = "patches"
    batch_size: ClassVar[int] = 64
    gpu_batch_size: ClassVar[int] = 1024
    peak: Tensor
    centre: Tensor

    def __init__(
        self,
        filters: int = 48,
        sizes: Sequence[int] = (6,),
        contrast: Sequence[float] = (1e-3,),
        pool: int = 5,
        mirror: bool = False,
        source: str = "leaves",
    ) -> None:
        super().__init__()
        self.filters = filters
        self.sizes = sizes
        self.contrast = contrast
        self.pool = pool
        self.mirror = mirror
        self.source = source
        self.register_buffer("peak", torch.ones(()))
        self.register_buffer("centre", torch.zeros(()))
        for size in sizes:
            self.register_buffer(f"bank{size}", torch.empty(0))
        self._cells: dict[tuple[int, int, torch.device], Tensor] = {}

    def fit(self, X: np.ndarray, random: np.random.RandomState) -> None:
        """Draw the filters, and take the brightest value as one."""
        if X.ndim not in (3, 4):
            raise ClsnetError(
                "the patches backbone needs images, (n, h, w) or (n, channels, h, w), "
                f"not an array of shape {X.shape}."
            )
        self.peak, self.centre = torch.tensor(float(abs(X).max()) or 1.0), torch.zeros(())
        leaves = dead_leaves(N_LEAVES, random)
        images = leaves if self.source == "leaves" else (X / float(self.peak))
        images = images.reshape(-1, *images.shape[-2:])
        for size in self.sizes:
            banks = [_filter_bank(images, size, self.filters, c, random) for c in self.contrast]
            bank = torch.as_tensor(np.concatenate(banks), dtype=torch.float32)
            setattr(self, f"bank{size}", bank[:, None])
        self.centre = self._features(torch.as_tensor(leaves[:, None], dtype=torch.float32)).mean(0)

    def forward(self, X: Tensor) -> Tensor:
        """Return one row of features per image."""
        images = X.reshape(-1, 1, *X.shape[-2:]) / self.peak
        Z = self._features(images)
        if self.mirror:
            Z = (Z + self._features(images.flip(-1))) / 2
        return (Z - self.centre).reshape(X.shape[0], -1)

    def _features(self, images: Tensor) -> Tensor:
        parts = []
        for size in self.sizes:
            padded = nn.functional.pad(images, [size // 2] * 4)
            response = nn.functional.conv2d(padded, getattr(self, f"bank{size}"))
            both = _box(torch.cat([padded, padded.square()]), size)
            mean, square = both[: images.shape[0]], both[images.shape[0] :]
            variance = (square - mean.square()).clamp_min_(0)
            for part, flat in zip(
                response.chunk(len(self.contrast), 1), self.contrast, strict=True
            ):
                part.mul_((variance + flat).rsqrt_())
            cells = self._pooling(response.shape[-2], response.shape[-1], response.device)
            response = response.flatten(2)
            total = response @ cells
            positive = response.clamp_min_(0) @ cells
            parts += [positive, positive - total]
        return torch.cat(parts, dim=1).clamp_min_(0).sqrt_().flatten(1)

    def _pooling(self, height: int, width: int, device: torch.device) -> Tensor:
        """Return the averages over cells as one matrix, positions by cells."""
        key = (height, width, device)
        if key not in self._cells:
            rows, columns = _triangles(height, self.pool), _triangles(width, self.pool)
            self._cells[key] = torch.kron(rows, columns).to(device)
        return self._cells[key]


def _box(images: Tensor, size: int) -> Tensor:
    """Mean of every window."""
    line = images.new_full((1, 1, size, 1), 1 / size)
    return nn.functional.conv2d(nn.functional.conv2d(images, line), line.mT)


def _triangles(length: int, cells: int) -> Tensor:
    """Weights of positions in overlapping cells: a triangle over each cell and its neighbours."""
    place = (torch.arange(length) + 0.5) * cells / length
    distance = (place[:, None] - torch.arange(cells) - 0.5).abs()
    weights = (1 - distance / OVERLAP).clamp_min(0)
    weights[:, weights.sum(dim=0) == 0] = 1  # cells of a tiny image that no position is near to
    return weights / weights.sum(dim=0)


def _filter_bank(
    images: np.ndarray, size: int, n_filters: int, flat: float, random: np.random.RandomState
) -> np.ndarray:
    """Return whitened patches that sum to zero, shape (n_filters, size, size)."""
    if min(images.shape[1:]) < size:
        raise ClsnetError(f"these images are smaller than {size} x {size}; use source='leaves'.")
    windows = np.lib.stride_tricks.sliding_window_view(images, (size, size), axis=(1, 2))
    place = [random.randint(length, size=4 * N_PATCHES) for length in windows.shape[:3]]
    patches = windows[tuple(place)].reshape(-1, size * size).astype(np.float64)
    patches -= patches.mean(axis=1, keepdims=True)
    variance = patches.var(axis=1, keepdims=True)
    busy = variance[:, 0] > LEAST_VARIANCE
    patches = (patches / np.sqrt(variance + flat))[busy][:N_PATCHES]
    if len(patches) < n_filters:
        raise ClsnetError("these images are too flat to take patches from; use source='leaves'.")
    values, vectors = np.linalg.eigh(patches.T @ patches / len(patches))
    whiten = (vectors / np.sqrt(values.clip(0) + values.mean() / 2)) @ vectors.T
    filters = patches[:n_filters] @ whiten
    filters = filters / np.linalg.norm(filters, axis=1, keepdims=True) @ whiten
    filters -= filters.mean(axis=1, keepdims=True)
    return np.asarray(filters.reshape(-1, size, size))
