"""Overlapping cells of an image, over which responses are averaged."""

from __future__ import annotations

import numpy as np

OVERLAP = 1.25


def positions(length: int, size: int) -> int:
    """Return how many windows there are along a side that is padded by half a window."""
    return length + 2 * (size // 2) - size + 1


def triangles(length: int, cells: int) -> np.ndarray:
    """Return weights of positions in cells: a triangle over each cell and its neighbours.

    Examples
    --------
    >>> triangles(4, 2).T.round(2)
    array([[0.4, 0.4, 0.2, 0. ],
           [0. , 0.2, 0.4, 0.4]], dtype=float32)
    """
    place = (np.arange(length, dtype=np.float32) + 0.5) * cells / length
    distance = abs(place[:, None] - np.arange(cells, dtype=np.float32) - 0.5)
    weights = np.maximum(1 - distance / OVERLAP, 0)
    weights[:, weights.sum(axis=0) == 0] = 1  # cells of a tiny image that no position is near to
    return np.asarray(weights / weights.sum(axis=0), np.float32)
