"""Bilinear resizing with antialiasing, as a product with a small matrix along each axis."""

from __future__ import annotations

import functools

import numpy as np

from clsnet.arrays.devices import Array, is_torch, to_device
from clsnet.extractor.parallel import in_threads


@functools.lru_cache(maxsize=64)
def resizing_matrix(length: int, size: int) -> np.ndarray:
    """Return the matrix (size, length) that resizes a row of pixels.

    A new pixel is the mean of old ones, weighted by a triangle that is as wide as two pixels of the
    coarser of both rows.

    Examples
    --------
    >>> resizing_matrix(4, 2).round(2)
    array([[0.43, 0.43, 0.14, 0.  ],
           [0.  , 0.14, 0.43, 0.43]], dtype=float32)
    """
    scale = length / size
    centres = (np.arange(size) + 0.5) * scale
    distances = abs(np.arange(length) + 0.5 - centres[:, None]) / max(scale, 1.0)
    weights = np.maximum(1 - distances, 0)
    matrix = np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float32)
    matrix.flags.writeable = False
    return matrix


def resized(x: Array, height: int, width: int) -> Array:
    """Resize images (n, channels, h, w) in float32, each by itself.

    Examples
    --------
    >>> resized(np.ones((1, 3, 4, 6), dtype=np.float32), 2, 2).shape
    (1, 3, 2, 2)
    """
    if x.shape[-2:] == (height, width):
        return x
    rows, columns = resizing_matrix(x.shape[-2], height), resizing_matrix(x.shape[-1], width).T
    if is_torch(x):
        rows, columns = (to_device(matrix.copy(), x.device) for matrix in (rows, columns))
        return rows @ (x @ columns)
    out = np.empty((*x.shape[:-2], height, width), dtype=np.float32)

    def resize(i: int) -> None:
        np.matmul(rows, x[i] @ columns, out=out[i])

    in_threads(resize, range(len(x)))
    return out
