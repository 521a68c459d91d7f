"""The linear systems of Subnetwork II, one per class, all sharing one large matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

TOLERANCE = 1e-11
MOST_STEPS = 60


@dataclass
class System:
    """``(shared + diag(diagonal[:, c])) Omega[:, c] = rhs[:, c]`` for every class c.

    This is Eq. (combination) after the partition by classes. Without `diagonal` all classes share
    one matrix.
    """

    shared: Tensor
    rhs: Tensor
    diagonal: Tensor | None = None

    @classmethod
    def zeros(cls, dimension: int, n_classes: int, device: torch.device) -> System:
        """Return the empty system, in float64."""
        shared = torch.zeros(dimension, dimension, dtype=torch.float64, device=device)
        return cls(shared, torch.zeros(dimension, n_classes, dtype=torch.float64, device=device))

    def solve(self) -> Tensor:
        """Return Omega, by the cheapest way that is exact."""
        if self.diagonal is None:
            return solve_shared(self.shared, self.rhs)
        if iterating_pays(self.shared.shape[0], self.rhs.shape[1]):
            omega = solve_by_conjugate_gradients(self.shared, self.diagonal, self.rhs)
            if omega is not None:
                return omega
        return solve_per_class(self.shared, self.diagonal, self.rhs)


def solve_shared(matrix: Tensor, rhs: Tensor) -> Tensor:
    """Solve a symmetric positive semi-definite system; least norm where it is singular."""
    factor, failed = torch.linalg.cholesky_ex(matrix)
    rounding = 16 * len(matrix) * torch.finfo(matrix.dtype).eps * matrix.diagonal().max()
    if not failed and factor.diagonal().min().square() > rounding:
        return torch.cholesky_solve(rhs, factor)
    values, vectors = torch.linalg.eigh(matrix)
    keep = values > values[-1].clamp_min(0) * matrix.shape[0] * torch.finfo(matrix.dtype).eps
    inverse = torch.where(keep, 1 / torch.where(keep, values, 1.0), 0.0)
    solution: Tensor = vectors @ (inverse[:, None] * (vectors.T @ rhs))
    return solution


def solve_per_class(shared: Tensor, diagonal: Tensor, rhs: Tensor) -> Tensor:
    """Solve each class's system by a factorisation of its own (the paper's PMD)."""
    columns = []
    for c in range(rhs.shape[1]):
        matrix = shared.clone()
        matrix.diagonal().add_(diagonal[:, c])
        columns.append(solve_shared(matrix, rhs[:, c : c + 1]))
    return torch.cat(columns, dim=1)


def iterating_pays(dimension: int, n_classes: int) -> bool:
    """Whether a few products with all columns beat one factorisation per class."""
    factorisations = n_classes * dimension**3 / 3
    iterations = dimension**3 / 3 + MOST_STEPS / 2 * 4 * dimension**2 * n_classes
    return iterations < factorisations


def solve_by_conjugate_gradients(shared: Tensor, diagonal: Tensor, rhs: Tensor) -> Tensor | None:
    """Solve all classes at once, preconditioned by one factorisation for their mean diagonal.

    Returns None if a residual stays above the tolerance: the caller then factorises.
    """
    mean = shared.clone()
    mean.diagonal().add_(diagonal.mean(dim=1))
    factor, failed = torch.linalg.cholesky_ex(mean)
    if failed:
        return None

    def apply(x: Tensor) -> Tensor:
        return shared @ x + diagonal * x

    goal = TOLERANCE * rhs.norm(dim=0).clamp_min(math.sqrt(torch.finfo(rhs.dtype).tiny))
    omega = torch.cholesky_solve(rhs, factor)
    residual = rhs - apply(omega)
    z = torch.cholesky_solve(residual, factor)
    direction = z
    rz = (residual * z).sum(dim=0)
    for _ in range(MOST_STEPS):
        if bool((residual.norm(dim=0) <= goal).all()):
            return omega
        image = apply(direction)
        curvature = (direction * image).sum(dim=0)
        step = torch.where(curvature > 0, rz / curvature, 0.0)
        omega = omega + step * direction
        residual = residual - step * image
        z = torch.cholesky_solve(residual, factor)
        rz, old = (residual * z).sum(dim=0), rz
        direction = z + torch.where(old > 0, rz / old, 0.0) * direction
    return None
