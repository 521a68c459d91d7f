"""Convolutions with whitened random patches: good features of small images, with no training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clsnet.arrays.devices import Array, Device, is_torch, to_device, to_numpy
from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.base import Backbone
from clsnet.extras import needed
from clsnet.images.dead_leaves import dead_leaves

if TYPE_CHECKING:
    from clsnet.extractor.graph import Graph

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

    Examples
    --------
    >>> backbone = Patches(filters=2, sizes=(3,), pool=2)
    >>> images = np.random.RandomState(0).uniform(size=(4, 8, 8))
    >>> backbone.fit(images, np.random.RandomState(0))
    >>> backbone.transform(backbone.as_input(images)).shape
    (4, 16)
    """

    name = "patches"
    batch_size: ClassVar[int] = 64
    gpu_batch_size: ClassVar[int] = 1024
    peak: Array
    centre: Array

    def __init__(
        self,
        filters: int = 48,
        sizes: Sequence[int] = (6,),
        contrast: Sequence[float] = (1e-3,),
        pool: int = 5,
        mirror: bool = False,
        source: str = "leaves",
    ) -> None:
        self.filters = filters
        self.sizes = sizes
        self.contrast = contrast
        self.pool = pool
        self.mirror = mirror
        self.source = source
        self.fitted = ("peak", "centre", *(f"bank{size}" for size in sizes))
        self.peak, self.centre = np.ones((), np.float32), np.zeros((), np.float32)
        for size in sizes:
            setattr(self, f"bank{size}", np.empty(0, np.float32))
        self._cells: dict[tuple[int, int, Device], Array] = {}

    def fit(self, X: np.ndarray, random: np.random.RandomState) -> None:
        """Draw the filters, and take the brightest value as one."""
        if X.ndim not in (3, 4):
            raise ClsnetError(
                "the patches backbone needs images, (n, h, w) or (n, channels, h, w), "
                f"not an array of shape {X.shape}."
            )
        self.peak = np.array(float(abs(X).max()) or 1.0, np.float32)
        leaves = dead_leaves(N_LEAVES, random)
        images = leaves if self.source == "leaves" else (X / float(self.peak))
        images = images.reshape(-1, *images.shape[-2:])
        for size in self.sizes:
            banks = [_filter_bank(images, size, self.filters, c, random) for c in self.contrast]
            setattr(self, f"bank{size}", np.concatenate(banks).astype(np.float32)[:, None])
        self.centre = self._features(leaves.astype(np.float32)).mean(axis=0)

    def as_input(self, X: np.ndarray) -> np.ndarray:
        """Return a copy in single precision."""
        return np.array(X, dtype=np.float32)

    def transform(self, X: Array) -> Array:
        """Return one row of features per image."""
        images = X.reshape(-1, *X.shape[-2:]) / self.peak
        features = self._torch_features if is_torch(X) else self._features
        Z = features(images)
        if self.mirror:
            flipped = images.flip(-1) if is_torch(X) else images[..., ::-1]
            Z = (Z + features(flipped)) / 2
        return (Z - self.centre).reshape(X.shape[0], -1)

    def _features(self, images: np.ndarray) -> np.ndarray:
        parts = []
        n = len(images)
        for size in self.sizes:
            padded = np.pad(images, [(0, 0), (size // 2,) * 2, (size // 2,) * 2])
            windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(1, 2))
            height, width = windows.shape[1:3]
            windows = windows.reshape(n, height * width, -1)
            response = np.matmul(windows, getattr(self, f"bank{size}").reshape(-1, size**2).T)
            variance = windows.var(axis=2)
            response = response.reshape(n, height * width, len(self.contrast), -1)
            for i, flat in enumerate(self.contrast):
                response[:, :, i] /= np.sqrt(variance + np.float32(flat))[..., None]
            response = response.reshape(n, height * width, -1).transpose(0, 2, 1)
            cells = self._pooling(height, width, "cpu")
            total = response @ cells
            positive = np.maximum(response, 0) @ cells
            parts += [positive, positive - total]
        return np.sqrt(np.maximum(np.concatenate(parts, axis=1), 0)).reshape(n, -1)

    def _torch_features(self, images: Any) -> Any:
        torch = needed("torch", f"device {images.device}", "torch")
        pad, convolved = torch.nn.functional.pad, torch.nn.functional.conv2d
        parts = []
        for size in self.sizes:
            padded = pad(images[:, None], [size // 2] * 4)
            response = convolved(padded, getattr(self, f"bank{size}"))
            line = images.new_full((1, 1, size, 1), 1 / size)
            both = convolved(convolved(torch.cat([padded, padded.square()]), line), line.mT)
            mean, square = both.chunk(2)
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

    def _pooling(self, height: int, width: int, device: Device) -> Array:
        """Return the averages over cells as one matrix, positions by cells."""
        key = (height, width, device)
        if key not in self._cells:
            rows, columns = _triangles(height, self.pool), _triangles(width, self.pool)
            self._cells[key] = to_device(np.kron(rows, columns), device)
        return self._cells[key]


def _triangles(length: int, cells: int) -> np.ndarray:
    """Weights of positions in overlapping cells: a triangle over each cell and its neighbours."""
    place = (np.arange(length, dtype=np.float32) + 0.5) * cells / length
    distance = abs(place[:, None] - np.arange(cells, dtype=np.float32) - 0.5)
    weights = np.maximum(1 - distance / OVERLAP, 0)
    weights[:, weights.sum(axis=0) == 0] = 1  # cells of a tiny image that no position is near to
    return np.asarray(weights / weights.sum(axis=0), np.float32)


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
