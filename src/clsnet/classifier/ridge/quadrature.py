"""Many ridges from one factorisation."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from clsnet.classifier.ridge.factor import Factor


class Quadrature:
    """``v'(G + r I)^-1 v`` and ``v'(G + r I)^-2 v``, for columns v and any ridge r near another's.

    Lanczos steps with ``K = (G + r0 I)^-1``, where r0 is the ridge of the factor, make of each
    column a Gauss quadrature over the spectrum of K; as ``(G + r I)^-1 = K (I + (r - r0) K)^-1``,
    it serves every r.

    Examples
    --------
    >>> G = torch.diag(torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    >>> columns = Quadrature(Factor.of(G, ridge=1.0), torch.ones(3, 1, dtype=torch.float64))
    >>> for _ in range(3):
    ...     columns.step()
    >>> inverse, squared = columns.forms(ridge=2.0)
    >>> round(inverse.item(), 12) == round(1 / 3 + 1 / 4 + 1 / 5, 12)
    True
    """

    def __init__(self, factor: Factor, columns: Tensor) -> None:
        self.factor = factor
        self.norms = columns.norm(dim=0)
        self._basis = [torch.zeros_like(columns), _divide(columns, self.norms)]
        self._diagonal: list[Tensor] = []
        self._beside: list[Tensor] = [torch.zeros_like(self.norms)]

    @property
    def n_steps(self) -> int:
        """Steps taken: products with the inverse."""
        return len(self._diagonal)

    def step(self) -> None:
        """Take one Lanczos step, with all columns at once."""
        before, now = self._basis[-2:]
        image = self.factor.solve(now)
        diagonal = (now * image).sum(dim=0)
        image -= diagonal * now
        image -= self._beside[-1] * before
        beside = image.norm(dim=0)
        # A column whose space is used up goes on as zero, and changes nothing any more.
        beside = torch.where(beside > 1e-14 * diagonal, beside, 0.0)
        self._basis.append(_divide(image, beside))
        self._diagonal.append(diagonal)
        self._beside.append(beside)

    def rate(self, ridge: float) -> float:
        """Factor by which a step shrinks the error at a ridge: 1/13 half a power of ten away."""
        root = (max(ridge, self.factor.ridge) / min(ridge, self.factor.ridge)) ** 0.5
        return float(((root - 1) / (root + 1)) ** 2)

    def forms(self, ridge: float, n_steps: int | None = None) -> tuple[Tensor, Tensor]:
        """Return both forms of every column, after all steps or the first `n_steps` of them."""
        values, vectors = self._spectrum(ridge, n_steps or self.n_steps)
        weights = (self.norms[:, None].cpu() * vectors[:, 0, :]).square()
        return (weights * values).sum(dim=1), (weights * values.square()).sum(dim=1)

    def solution(self, ridge: float, n_columns: int) -> Tensor:
        """Return ``(G + r I)^-1 v`` for the first columns, as good as the steps so far make it."""
        if not self.n_steps:
            self.step()
        values, vectors = self._spectrum(ridge, self.n_steps)
        shares = (vectors * (values * vectors[:, 0, :])[:, None, :]).sum(dim=2)[:n_columns]
        shares = shares.to(self.norms) * self.norms[:n_columns, None]
        parts = (v[:, :n_columns] * s for v, s in zip(self._basis[1:], shares.T, strict=False))
        solution: Tensor = functools.reduce(torch.add, parts)
        return solution

    def _spectrum(self, ridge: float, n: int) -> tuple[Tensor, Tensor]:
        """Eigenvalues of ``(G + r I)^-1`` and their vectors, in the space of the first n steps."""
        T = torch.diag_embed(torch.stack(self._diagonal[:n], dim=1))
        if n > 1:
            beside = torch.stack(self._beside[1:n], dim=1)
            T = T + torch.diag_embed(beside, 1) + torch.diag_embed(beside, -1)
        nodes, vectors = torch.linalg.eigh(T.cpu())
        return nodes / (1 + (ridge - self.factor.ridge) * nodes), vectors


def _divide(columns: Tensor, norms: Tensor) -> Tensor:
    return torch.where(norms > 0, columns / torch.where(norms > 0, norms, 1.0), 0.0)
