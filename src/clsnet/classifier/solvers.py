"""The linear systems of Subnetwork II, one per class, all sharing one large matrix."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from clsnet.classifier.ridge.factor import Factor, rounding, solve_lower

TOLERANCE = 1e-11  # at which an iteration stops
ACCEPTED = 1e-7  # of a solution when it is checked at last
MOST_STEPS = 60

# What solutions cost, in seconds over those of the arithmetic of a factorisation. Measured by
# `python benchmarks/all.py per_class`, "solver_costs" in results/bench/cpu.json: steps of the
# paper's rule with gammas from 100 to 10^8, at most, and columns that a step takes for nothing, as
# it waits for memory.
STEPS = 18
STEP_COST = 0.5
FREE_COLUMNS = 40

MOST_NUMBERS = 2**24  # in the matrices that are factorised at once


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
            warnings.warn(
                "conjugate gradients missed their tolerance; factorising once per class instead.",
                stacklevel=2,
            )
        return solve_per_class(self.shared, self.diagonal, self.rhs)


def solve_shared(matrix: Tensor, rhs: Tensor) -> Tensor:
    """Solve a symmetric positive semi-definite system; least norm where it is singular."""
    factor = Factor.of(matrix, 0.0)
    if factor is not None:
        return factor.solve(rhs)
    values, vectors = torch.linalg.eigh(matrix)
    keep = values > values[-1].clamp_min(0) * matrix.shape[0] * torch.finfo(matrix.dtype).eps
    inverse = torch.where(keep, 1 / torch.where(keep, values, 1.0), 0.0)
    solution: Tensor = vectors @ (inverse[:, None] * (vectors.T @ rhs))
    return solution


def solve_per_class(shared: Tensor, diagonal: Tensor, rhs: Tensor) -> Tensor:
    """Solve each class's system by a factorisation of its own (the paper's PMD), many at once."""
    at_once = max(1, MOST_NUMBERS // shared.numel())
    columns = []
    for start in range(0, rhs.shape[1], at_once):
        own = slice(start, start + at_once)
        matrices = shared + torch.diag_embed(diagonal[:, own].T)
        factors, failed = torch.linalg.cholesky_ex(matrices)
        solutions = solve_lower(factors, rhs[:, own].T[:, :, None])[:, :, 0]
        least = factors.diagonal(dim1=1, dim2=2).amin(dim=1).square()
        for i in torch.nonzero((failed > 0) | ~(least > rounding(matrices))).flatten().tolist():
            solutions[i] = solve_shared(matrices[i], rhs[:, start + i, None])[:, 0]
        columns.append(solutions.T)
    return torch.cat(columns, dim=1)


def iterating_pays(dimension: int, n_classes: int) -> bool:
    """Whether steps with all columns are expected to cost less than one factorisation per class."""
    factorisation = dimension**3 / 3
    step = STEP_COST * 4 * dimension**2 * (n_classes + FREE_COLUMNS)
    return factorisation + STEPS * step < n_classes * factorisation


def solve_by_conjugate_gradients(shared: Tensor, diagonal: Tensor, rhs: Tensor) -> Tensor | None:
    """Solve all classes at once, or return None if the tolerance is missed.

    One factorisation, for the mean of all diagonals, preconditions every class; it is scaled so
    that its diagonal becomes that of the class.
    """
    mean = diagonal.mean(dim=1)
    factor = Factor.of(shared + torch.diag(mean), 0.0)
    if factor is None:
        return None
    own = shared.diagonal()
    scale = ((own + mean)[:, None] / (own[:, None] + diagonal)).sqrt()
    return conjugate_gradients(
        lambda x: shared @ x + diagonal * x, lambda x: scale * factor.solve(scale * x), rhs
    )


def refine(
    apply: Callable[[Tensor], Tensor],
    ridge: float,
    rhs: Tensor,
    factor: Factor,
    start: Tensor,
) -> Tensor | None:
    """Solve ``(G + ridge I) x = rhs`` by a factor of G with a ridge close to it, or return None.

    Parameters
    ----------
    apply
        The product with G.
    ridge, rhs, factor
        As above.
    start
        A guess.
    """

    def shifted(x: Tensor) -> Tensor:
        return torch.add(apply(x), x, alpha=ridge)

    # By the relative difference of both ridges, at least, or by rounding, each z shrinks the error.
    shrinks = max(abs(ridge - factor.ridge) / (ridge or 1.0), 1e-3)
    omega = start
    for _ in range(2):
        z = factor.solve(rhs - shifted(omega))
        omega = omega + z
        if _small(shrinks * z, omega, TOLERANCE):
            return omega
    return conjugate_gradients(shifted, factor.solve, rhs, omega)


def conjugate_gradients(
    apply: Callable[[Tensor], Tensor],
    precondition: Callable[[Tensor], Tensor],
    rhs: Tensor,
    start: Tensor | None = None,
) -> Tensor | None:
    """Solve for all columns at once; None if the tolerance is missed after `MOST_STEPS`.

    The preconditioned residual is the error still made, as far as the preconditioner is close to
    the inverse; it has to be small beside the solution. The residual that the steps carry along
    drifts by rounding, so the solution is checked by one of its own.
    """
    omega = precondition(rhs) if start is None else start
    residual = rhs - apply(omega)
    direction = z = precondition(residual)
    rz = (residual * z).sum(dim=0)
    n_steps = 0
    while not _small(z, omega, TOLERANCE) and n_steps < MOST_STEPS:
        image = apply(direction)
        curvature = (direction * image).sum(dim=0)
        step = torch.where(curvature > 0, rz / curvature, 0.0)
        omega = omega + step * direction
        residual = residual - step * image
        z = precondition(residual)
        rz, old = (residual * z).sum(dim=0), rz
        direction = z + torch.where(old > 0, rz / old, 0.0) * direction
        n_steps += 1
    if n_steps == 0:
        return omega
    done = n_steps < MOST_STEPS and _small(precondition(rhs - apply(omega)), omega, ACCEPTED)
    return omega if done else None


def _small(error: Tensor, omega: Tensor, tolerance: float) -> bool:
    return bool((error.norm(dim=0) <= tolerance * omega.norm(dim=0)).all())
