"""Symmetric positive definite systems, one per class, all sharing one large matrix."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clsnet.arrays.devices import Array, Device, is_torch, library, namespace
from clsnet.arrays.linalg import (
    cholesky_batch,
    eigh,
    epsilon,
    norms,
    product,
    solve_by_factor,
)
from clsnet.arrays.linalg import diagonal as diagonal_of
from clsnet.classifier.ridge.factor import Factor, rounding, safe_cholesky

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

    shared: Array
    rhs: Array
    diagonal: Array | None = None

    @classmethod
    def zeros(cls, dimension: int, n_classes: int, device: Device) -> System:
        """Return the empty system, in float64."""
        xp = library(device)
        options = {"dtype": xp.float64, "device": device}
        shared = xp.zeros((dimension, dimension), **options)
        return cls(shared, xp.zeros((dimension, n_classes), **options))

    def solve(self) -> Array:
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


def solve_shared(matrix: Array, rhs: Array, shift: float | Array = 0.0) -> Array:
    """Solve a symmetric positive semi-definite system; least norm where it is singular.

    Parameters
    ----------
    matrix, rhs
        The system, with one or more columns.
    shift
        Added to the diagonal of the matrix: one number, or one for each row.
    """
    lower = safe_cholesky(matrix, shift)
    if lower is not None:
        return solve_by_factor(lower, rhs)
    xp = namespace(matrix)
    shifted = xp.asarray(matrix, copy=True)
    own = diagonal_of(shifted)
    own += shift
    values, vectors = eigh(shifted)
    keep = values > max(float(values[-1]), 0.0) * len(matrix) * epsilon(matrix)
    inverse = xp.where(keep, 1 / xp.where(keep, values, 1.0), 0.0)
    return vectors @ (inverse[:, None] * (vectors.T @ rhs))


def solve_per_class(shared: Array, diagonal: Array, rhs: Array) -> Array:
    """Solve each class's system by a factorisation of its own (the paper's PMD)."""
    if is_torch(shared):
        return _solve_in_batches(shared, diagonal, rhs)
    classes = range(rhs.shape[1])
    columns = [solve_shared(shared, rhs[:, c : c + 1], diagonal[:, c]) for c in classes]
    return namespace(rhs).concat(columns, axis=1)


def _solve_in_batches(shared: Array, diagonal: Array, rhs: Array) -> Array:
    """Factorise many classes at once, as a GPU does best."""
    at_once = max(1, MOST_NUMBERS // shared.numel())
    columns = []
    for start in range(0, rhs.shape[1], at_once):
        own = slice(start, start + at_once)
        matrices = shared + diagonal[:, own].T.diag_embed()
        factors, failed = cholesky_batch(matrices)
        solutions = solve_by_factor(factors, rhs[:, own].T[:, :, None])[:, :, 0]
        least = factors.diagonal(dim1=1, dim2=2).amin(dim=1).square()
        largest = matrices.diagonal(dim1=1, dim2=2).amax(dim=1)
        bound = rounding(len(shared), largest, epsilon(shared))
        for i in ((failed > 0) | ~(least > bound)).nonzero().flatten().tolist():
            solutions[i] = solve_shared(matrices[i], rhs[:, start + i, None])[:, 0]
        columns.append(solutions.T)
    return namespace(rhs).concat(columns, axis=1)


def iterating_pays(dimension: int, n_classes: int) -> bool:
    """Whether steps with all columns are expected to cost less than one factorisation per class."""
    factorisation = dimension**3 / 3
    step = STEP_COST * 4 * dimension**2 * (n_classes + FREE_COLUMNS)
    return factorisation + STEPS * step < n_classes * factorisation


@np.errstate(all="ignore")  # what comes out is checked
def solve_by_conjugate_gradients(shared: Array, diagonal: Array, rhs: Array) -> Array | None:
    """Solve all classes at once, or return None if the tolerance is missed.

    One factorisation, for the mean of all diagonals, preconditions every class; it is scaled so
    that its diagonal becomes that of the class.
    """
    mean = namespace(diagonal).mean(diagonal, axis=1)
    lower = safe_cholesky(shared, mean)
    if lower is None:
        return None
    own = diagonal_of(shared)
    scale = ((own + mean)[:, None] / (own[:, None] + diagonal)) ** 0.5
    return conjugate_gradients(
        lambda x: product(shared, x) + diagonal * x,
        lambda x: scale * solve_by_factor(lower, scale * x),
        rhs,
    )


def refine(
    apply: Callable[[Array], Array],
    ridge: float,
    rhs: Array,
    factor: Factor,
    start: Array,
) -> Array | None:
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

    def shifted(x: Array) -> Array:
        return apply(x) + ridge * x

    # Each correction z shrinks the error by the relative difference of both ridges, or by rounding.
    shrinks = max(abs(ridge - factor.ridge) / (ridge or 1.0), 1e-3)
    omega = start
    for _ in range(2):
        z = factor.solve(rhs - shifted(omega))
        omega = omega + z
        if _small(shrinks * z, omega, TOLERANCE):
            return omega
    return conjugate_gradients(shifted, factor.solve, rhs, omega)


def conjugate_gradients(
    apply: Callable[[Array], Array],
    precondition: Callable[[Array], Array],
    rhs: Array,
    start: Array | None = None,
) -> Array | None:
    """Solve for all columns at once; None if the tolerance is missed after `MOST_STEPS`.

    The preconditioned residual estimates the remaining error, as far as the preconditioner is close
    to the inverse; it has to be small beside the solution. The residual that the steps carry along
    drifts by rounding, so the solution is checked against a fresh one.

    Parameters
    ----------
    apply
        The product with the matrix; of each column with its own.
    precondition
        The product with an approximate inverse.
    rhs
        One column per system.
    start
        A guess.
    """
    xp = namespace(rhs)
    omega = precondition(rhs) if start is None else start
    residual = rhs - apply(omega)
    direction = z = precondition(residual)
    rz = xp.sum(residual * z, axis=0)
    n_steps = 0
    while not _small(z, omega, TOLERANCE) and n_steps < MOST_STEPS:
        image = apply(direction)
        step = _ratio(rz, xp.sum(direction * image, axis=0))
        omega = omega + step * direction
        residual = residual - step * image
        z = precondition(residual)
        rz, old = xp.sum(residual * z, axis=0), rz
        direction = z + _ratio(rz, old) * direction
        n_steps += 1
    if n_steps == 0:
        return omega
    done = n_steps < MOST_STEPS and _small(precondition(rhs - apply(omega)), omega, ACCEPTED)
    return omega if done else None


def _ratio(a: Array, b: Array) -> Array:
    """Return ``a / b`` where b is positive, and 0 elsewhere."""
    xp = namespace(a)
    positive = b > 0
    return xp.where(positive, a / xp.where(positive, b, 1.0), 0.0)


def _small(error: Array, omega: Array, tolerance: float) -> bool:
    return bool(namespace(error).all(norms(error) <= tolerance * norms(omega)))
