"""Quadratic forms for many ridges from one factorisation, by Lanczos quadrature."""

from __future__ import annotations

import functools

import numpy as np

from clsnet.arrays.devices import Array, device_of, namespace, to_device, to_numpy
from clsnet.arrays.linalg import norms
from clsnet.classifier.ridge.factor import Factor


class Quadrature:
    """``v'(G + r I)^-1 v`` and ``v'(G + r I)^-2 v``, for columns v and any ridge r near another's.

    Lanczos steps with ``K = (G + r0 I)^-1``, where r0 is the ridge of the factor, make of each
    column a Gauss quadrature over the spectrum of K; as ``(G + r I)^-1 = K (I + (r - r0) K)^-1``,
    it serves every r. The small tridiagonal matrices that the steps leave behind are NumPy's on
    every device: their eigenvalues decide what is done next.

    Examples
    --------
    >>> columns = Quadrature(Factor.of(np.diag([1.0, 2.0, 3.0]), ridge=1.0), np.ones((3, 1)))
    >>> for _ in range(3):
    ...     columns.step()
    >>> inverse, squared = columns.forms(ridge=2.0)
    >>> round(inverse.item(), 12) == round(1 / 3 + 1 / 4 + 1 / 5, 12)
    True
    """

    def __init__(self, factor: Factor, columns: Array) -> None:
        xp = namespace(columns)
        self.factor = factor
        self.norms = norms(columns)
        self._basis = [xp.zeros_like(columns), _divide(columns, self.norms)]
        self._diagonal: list[Array] = []
        self._beside: list[Array] = [xp.zeros_like(self.norms)]

    @property
    def n_steps(self) -> int:
        """Steps taken: products with the inverse."""
        return len(self._diagonal)

    def step(self) -> None:
        """Take one Lanczos step, with all columns at once."""
        xp = namespace(self.norms)
        before, now = self._basis[-2:]
        image = self.factor.solve(now)
        diagonal = xp.sum(now * image, axis=0)
        image -= diagonal * now
        image -= self._beside[-1] * before
        beside = norms(image)
        # A column whose Krylov space is used up goes on as zero and changes nothing any more.
        beside = xp.where(beside > 1e-14 * diagonal, beside, xp.zeros_like(beside))
        self._basis.append(_divide(image, beside))
        self._diagonal.append(diagonal)
        self._beside.append(beside)

    def rate(self, ridge: float) -> float:
        """Factor by which a step shrinks the error at a ridge: 1/13 half a power of ten away."""
        root = (max(ridge, self.factor.ridge) / min(ridge, self.factor.ridge)) ** 0.5
        return float(((root - 1) / (root + 1)) ** 2)

    def forms(self, ridge: float, n_steps: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return both forms of every column, after all steps or the first `n_steps` of them."""
        values, vectors = self._spectrum(ridge, n_steps or self.n_steps)
        weights = (to_numpy(self.norms)[:, None] * vectors[:, 0, :]) ** 2
        return (weights * values).sum(axis=1), (weights * values**2).sum(axis=1)

    def solution(self, ridge: float, n_columns: int) -> Array:
        """Return ``(G + r I)^-1 v`` for the first columns, as good as the steps so far make it."""
        if not self.n_steps:
            self.step()
        values, vectors = self._spectrum(ridge, self.n_steps)
        shares = (vectors * (values * vectors[:, 0, :])[:, None, :]).sum(axis=2)[:n_columns]
        shares = to_device(shares, device_of(self.norms)) * self.norms[:n_columns, None]
        parts = (v[:, :n_columns] * s for v, s in zip(self._basis[1:], shares.T, strict=False))
        return functools.reduce(lambda a, b: a + b, parts)

    def _spectrum(self, ridge: float, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues of ``(G + r I)^-1`` and their vectors, in the space of the first n steps."""
        nodes, vectors = self._nodes(n)
        return nodes / (1 + (ridge - self.factor.ridge) * nodes), vectors

    def _nodes(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and vectors of each column's tridiagonal matrix, n x n."""
        xp = namespace(self.norms)
        diagonal = to_numpy(xp.stack(self._diagonal[:n], axis=1))
        T = np.zeros((len(diagonal), n, n))
        steps = np.arange(n)
        T[:, steps, steps] = diagonal
        if n > 1:
            beside = to_numpy(xp.stack(self._beside[1:n], axis=1))
            T[:, steps[:-1], steps[1:]] = T[:, steps[1:], steps[:-1]] = beside
        nodes, vectors = np.linalg.eigh(T)
        return nodes, vectors


def _divide(columns: Array, norms: Array) -> Array:
    xp = namespace(columns)
    some = norms > 0
    return xp.where(some, columns / xp.where(some, norms, xp.ones_like(norms)), 0.0)
