"""Filters that are random patches of images, whitened (ZCA)."""

from __future__ import annotations

import numpy as np

from clsnet.errors import ClsnetError

N_PATCHES = 20_000
LEAST_VARIANCE = 1e-3


def filter_bank(
    images: np.ndarray, size: int, n_filters: int, flat: float, random: np.random.RandomState
) -> np.ndarray:
    """Return whitened patches that sum to zero, shape (n_filters, size, size).

    Parameters
    ----------
    images
        Where patches come from, (n, height, width).
    size
        Side length of a patch.
    n_filters
        How many are wanted.
    flat
        The variance below which a patch counts as flat rather than as faint.
    random
        Which patches are taken.
    """
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
