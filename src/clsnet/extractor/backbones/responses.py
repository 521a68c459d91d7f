"""Pooled responses of an image's windows to filters, by matrix products of NumPy.

The windows of a few images, or of a strip of one, are copied side by side into a block that stays
in the cache; the product with the filters, the contrast normalisation and the pooling follow while
it is there. Every product belongs to one image and has a shape that follows from the size of an
image alone, so an image's responses do not depend on the images beside it, to the bit.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

import numpy as np

CACHE = 4 * 2**20  # bytes of one block


class Responses:
    """Averages of positive and of negative responses in overlapping cells of an image.

    Parameters
    ----------
    bank
        Filters, (filters, size, size), those of one contrast after those of another.
    contrast
        Variances below which a window counts as flat, one for each equal part of the bank.
    rows, columns
        Weights of positions in cells, (positions, cells), along both sides of an image.

    Examples
    --------
    >>> bank, pixels = np.ones((1, 1, 1), np.float32), np.eye(2, dtype=np.float32)
    >>> responses = Responses(bank, [1.0], pixels, pixels)
    >>> image = np.array([[[1, -2], [3, 4]]], np.float32)
    >>> positive, negative = responses.averages(image)[0, ..., 0]
    >>> positive.tolist(), negative.tolist()
    ([[1.0, 0.0], [3.0, 4.0]], [[0.0, 2.0], [0.0, 0.0]])
    """

    def __init__(
        self, bank: np.ndarray, contrast: Sequence[float], rows: np.ndarray, columns: np.ndarray
    ) -> None:
        self.n_filters, self.size, _ = bank.shape
        self.bank = np.ascontiguousarray(bank.reshape(self.n_filters, -1).T)
        self.contrast = np.array(contrast, np.float32)
        self.rows, self.columns = np.ascontiguousarray(rows.T), np.ascontiguousarray(columns.T)
        self.height, self.width = len(rows), len(columns)
        row = 4 * self.width * (self.size**2 + 2 * self.n_filters)
        self.strip = min(self.height, max(1, CACHE // row))
        """Rows of positions that are looked at together."""
        self.at_once = max(1, CACHE // (row * self.height))
        """Images of one block."""
        self._box_rows = _box(self.height, self.size)
        self._box_columns = np.ascontiguousarray(_box(self.width, self.size).T)
        self._threads = threading.local()

    def averages(self, images: np.ndarray) -> np.ndarray:
        """Return the averages of up to `at_once` images, (n, 2, cells, cells, filters).

        Several threads may call it at once.

        Parameters
        ----------
        images
            Grey images, (n, height, width), float32.
        """
        n, height, width = images.shape
        memory = self._memory()
        padded, start = memory.padded[:n], self.size // 2
        padded[:, start : start + height, start : start + width] = images
        scale = self._scale(padded)
        tops = range(0, self.height, self.strip)
        pooled = sum(self._pooled_rows(n, top, scale, memory) for top in tops)
        averages: np.ndarray = np.matmul(self.columns, pooled)
        total, magnitude = averages[:, 0], averages[:, 1]
        positive = magnitude + total
        np.subtract(magnitude, total, out=magnitude)
        np.copyto(total, positive)
        averages *= 0.5
        return averages

    def _memory(self) -> _Memory:
        """Return the memory of this thread."""
        if not hasattr(self._threads, "memory"):
            self._threads.memory = _Memory(self)
        memory: _Memory = self._threads.memory
        return memory

    def _pooled_rows(self, n: int, top: int, scale: np.ndarray, memory: _Memory) -> np.ndarray:
        """Return the part of a strip in the averages over rows, (n, 2, cells, width, filters)."""
        height = min(self.strip, self.height - top)
        rows, positions = slice(top, top + height), height * self.width
        windows = _shaped(memory.windows, n, self.size, self.size, height, self.width)
        np.copyto(windows, memory.view[:n, :, :, rows])
        both = _shaped(memory.responses, n, 2, positions, self.n_filters)
        response, magnitude = both[:, 0], both[:, 1]
        windows = windows.reshape(n, self.size**2, positions)
        np.matmul(windows.transpose(0, 2, 1), self.bank, out=response)
        parts = response.reshape(n, positions, len(self.contrast), -1)
        parts *= scale[:, rows].reshape(n, positions, -1, 1)
        np.abs(response, out=magnitude)
        lines = both.reshape(n, 2, height, self.width * self.n_filters)
        pooled: np.ndarray = np.matmul(self.rows[:, rows], lines)
        return pooled.reshape(n, 2, -1, self.width, self.n_filters)

    def _scale(self, padded: np.ndarray) -> np.ndarray:
        """Return one over the deviation of every window, (n, height, width, contrasts)."""
        mean = self._box_rows @ padded @ self._box_columns
        variance = self._box_rows @ np.square(padded) @ self._box_columns
        variance -= np.square(mean, out=mean)
        np.maximum(variance, 0, out=variance)
        scale: np.ndarray = variance[..., None] + self.contrast
        np.sqrt(scale, out=scale)
        np.divide(1, scale, out=scale)
        return scale


class _Memory:
    """Arrays that one thread writes one block after another to."""

    def __init__(self, responses: Responses) -> None:
        n, size = responses.at_once, responses.size
        height, width = responses.height, responses.width
        positions = n * responses.strip * width
        self.padded = np.zeros((n, height + size - 1, width + size - 1), np.float32)
        self.view = np.lib.stride_tricks.sliding_window_view(
            self.padded, (height, width), axis=(1, 2)
        )
        self.windows = np.empty(size**2 * positions, np.float32)
        self.responses = np.empty(2 * responses.n_filters * positions, np.float32)


def _box(length: int, size: int) -> np.ndarray:
    """Return the matrix that averages `size` neighbours, (length, length + size - 1)."""
    place = np.arange(length + size - 1) - np.arange(length)[:, None]
    return ((place >= 0) & (place < size)).astype(np.float32) / np.float32(size)


def _shaped(memory: np.ndarray, *shape: int) -> np.ndarray:
    """Return the beginning of a piece of memory as an array of a shape."""
    return memory[: math.prod(shape)].reshape(shape)
