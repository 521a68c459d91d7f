"""Ridge regression by eigenvectors, where these are soon found: few samples, or few columns."""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from clsnet.arrays.devices import Array, device_of, namespace, to_device, to_numpy
from clsnet.arrays.linalg import eigh, epsilon
from clsnet.classifier.ridge.error_rate import ScoreMoments

SMALL = 1000  # columns
DIRECT = 1500  # columns up to which eigenvectors pay where the walk over ridges is long
OVERSAMPLING = 8  # random directions beyond the number of samples


def most_few(size: int) -> int:
    """Return how many samples are few beside so many columns.

    Examples
    --------
    >>> most_few(600), most_few(6000)
    (300, 1500)
    """
    return size // (2 if size <= SMALL else 4)


def most_decomposed(size: int) -> int:
    """Return up to how many samples ``A A'`` is decomposed instead of ``A'A``.

    Examples
    --------
    >>> most_decomposed(600), most_decomposed(6000)
    (450, 1500)
    """
    return 3 * size // 4 if size <= DIRECT else most_few(size)


class Spectrum:
    """``M = (A'A + ridge I)^-1`` for every ridge, from the eigenvectors of ``A A'``.

    Ten samples span ten directions, however many columns they have. With V the eigenvectors of
    ``A A'``, these are ``A'V``, the eigenvectors of ``A'A``; ``A'Y`` and the weights lie in them.
    Where only ``A'A`` is known, its eigenvectors are found directly.

    Parameters
    ----------
    rows
        A, or any factor of its Gram matrix.
    cross
        ``A'Y``.

    Examples
    --------
    >>> rows = np.array([[2.0, 0.0, 0.0]])
    >>> spectrum = Spectrum(rows, cross=rows.T)
    >>> spectrum.solution(ridge=1.0).flatten().tolist()
    [0.4..., 0.0, 0.0]
    >>> spectrum.sums(ridge=1.0)
    (0.8..., 0.16..., 0.8...)
    """

    def __init__(self, rows: Array, cross: Array) -> None:
        values, vectors = _positive(*eigh(rows @ rows.T))
        self._set(values, vectors.T @ rows, cross)

    @classmethod
    def of_gram(cls, gram: Array, cross: Array) -> Self:
        """Return the spectrum of ``A'A``.

        Examples
        --------
        >>> spectrum = Spectrum.of_gram(np.diag([4.0, 0.0]), cross=np.array([[2.0], [0.0]]))
        >>> spectrum.sums(ridge=1.0)
        (0.8..., 0.16..., 0.8...)
        """
        spectrum = cls.__new__(cls)
        values, vectors = _positive(*eigh(gram))
        spectrum._set(values, (vectors * values**0.5).T, cross)
        return spectrum

    def _set(self, values: Array, basis: Array, cross: Array) -> None:
        self.values, self.basis = values, basis
        self.cross = basis @ cross
        self._squares = namespace(basis).sum(self.cross**2, axis=1)

    def sums(self, ridge: float) -> tuple[float, float, float]:
        """Return ``tr(B'MB)`` and ``tr(B'MMB)`` with B for ``A'Y``, and ``df = tr(A'A M)``."""
        xp = namespace(self.values)
        inverse = 1 / (self.values + ridge)
        forms = self._squares * inverse / self.values
        df = xp.sum(self.values * inverse)
        return float(xp.sum(forms)), float(xp.sum(forms * inverse)), float(df)

    def moments(self, ridge: float) -> ScoreMoments:
        """Return what is known of the scores ``A M A'Y``."""
        scaled = self.cross / (self.values + ridge)[:, None]
        sums = self.cross.T @ (scaled / self.values[:, None])
        shares = self.values / (self.values + ridge)
        return ScoreMoments(
            to_numpy(sums),
            to_numpy(scaled.T @ scaled),
            float(namespace(shares).sum(shares)),
            float(namespace(shares).sum(shares**2)),
        )

    def solution(self, ridge: float) -> Array:
        """Return ``M A'Y``."""
        scaled = self.cross / (self.values * (self.values + ridge))[:, None]
        return self.basis.T @ scaled


def _positive(values: Array, vectors: Array) -> tuple[Array, Array]:
    """Return the eigenvalues that are more than rounding, and their eigenvectors."""
    there = values > 16 * len(values) * epsilon(values) * values[-1]
    return values[there], vectors[:, there]


def spanning(gram: Array, n_samples: float, rounding: float = 0.0) -> Array | None:
    """Return as few rows as there are samples, with this Gram matrix; None if there are more.

    This is a randomised range finder: products of a Gram matrix with random vectors lie in the
    span of the samples, and as many as there are samples span all of it.

    Parameters
    ----------
    gram
        The matrix.
    n_samples
        How many samples there are.
    rounding
        The share of the trace that may be rounding, if that is more than of one product.

    Examples
    --------
    >>> A = np.array([[3.0, 0.0, 4.0]])
    >>> rows = spanning(A.T @ A, n_samples=1)
    >>> np.allclose(rows.T @ rows, A.T @ A, atol=1e-5)
    True
    """
    xp = namespace(gram)
    size = len(gram)
    n = min(math.ceil(n_samples) + OVERSAMPLING, size)
    signs = xp.astype(to_device(random_signs(size, n), device_of(gram)), gram.dtype)
    directions = xp.linalg.qr(gram @ signs).Q
    values, vectors = eigh(directions.T @ gram @ directions)
    missing = max(size * epsilon(gram), rounding)
    if float(xp.sum(values)) < (1 - missing) * float(xp.linalg.trace(gram)):
        return None
    return (vectors * xp.clip(values, min=0) ** 0.5).T @ directions.T


def random_signs(rows: int, columns: int) -> np.ndarray:
    """Return a matrix of 1 and -1, always the same.

    Examples
    --------
    >>> float(abs(random_signs(2, 3)).sum())
    6.0
    """
    return np.random.RandomState(0).randint(0, 2, (rows, columns)) * 2.0 - 1.0
