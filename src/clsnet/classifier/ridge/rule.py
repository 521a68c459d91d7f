"""Ridge regression from Gram matrices alone, and the ridge that suits them."""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from clsnet.classifier.ridge.factor import Factor
from clsnet.classifier.ridge.quadrature import Quadrature
from clsnet.classifier.solvers import refine, solve_shared
from clsnet.classifier.ridge.spectrum import SPAN, Spectrum, random_signs, spanning
from clsnet.classifier.sums import with_products

GRID = tuple(10.0 ** (exponent / 2) for exponent in range(-18, 7))
START = GRID.index(1e-5)
PROBES = 64
ROUNDING = 1e-12
NOTHING = 1e-9  # share of the targets that is not worth telling from none at all
TIED = 1e-9  # errors that differ by less are the same, such as all those of a single sample
COARSE = 512  # up to this size the walk begins at START, beyond where a quarter of the columns ends
DIRECT = 1000  # up to this size a factorisation per ridge costs less than the steps of a quadrature
REACH = 3  # half powers of ten over which a quadrature is trusted to converge soon
MOST_STEPS = 16


@dataclass(frozen=True)
class Sums:
    """What ridge regression needs of data: ``A'A``, ``A'Y`` with one-hot rows in Y, and N.

    A few rows of A may still be missing in `base`, or all that there are, if it is None; then
    ``A'A`` is only made if it is needed.
    """

    base: Tensor | None
    cross: Tensor
    n_samples: float
    rows: Tensor | None = None

    @property
    def size(self) -> int:
        """Number of columns of A."""
        return len(self.cross)

    @functools.cached_property
    def gram(self) -> Tensor:
        """``A'A``."""
        base = self.cross.new_zeros(self.size, self.size) if self.base is None else self.base
        return base if self.rows is None else with_products(base, self.rows)

    @functools.cached_property
    def spectrum(self) -> Spectrum | None:
        """Eigenvalues and eigenvectors, if there are so few samples that they are soon found."""
        if self.n_samples > self.size // SPAN:
            return None
        rows = spanning(self.gram, self.n_samples) if self.base is not None else self.rows
        return None if rows is None else Spectrum(rows, self.cross)

    @functools.cached_property
    def scale(self) -> float:
        """Mean diagonal of ``A'A``: what ridges are relative to."""
        known = 0.0 if self.base is None else float(self.base.diagonal().mean())
        missing = 0.0 if self.rows is None else float(self.rows.square().sum()) / self.size
        return known + missing or 1.0

    def times(self, x: Tensor) -> Tensor:
        """Return ``A'A x``."""
        image = torch.zeros_like(x) if self.base is None else self.base @ x
        return image if self.rows is None else image.addmm_(self.rows.T, self.rows @ x)

    @functools.cached_property
    def probes(self) -> Tensor:
        """Columns v for ``tr(M) = sum v'Mv``: the identity, or random signs where they suffice.

        The trace is at most N and corrects N: known to ``sqrt(2 N / probes)`` it is known well
        enough.
        """
        n_probes = PROBES if self.n_samples > 4 * self.size else 4 * PROBES
        if self.size <= n_probes:
            return torch.eye(self.size, dtype=self.cross.dtype, device=self.cross.device)
        return random_signs(self.size, n_probes).div_(n_probes**0.5).to(self.cross)

    def some(self, n_columns: int) -> Sums:
        """Return the sums over some columns of A, always the same."""
        order = np.random.RandomState(0).permutation(self.size)[:n_columns]
        own = torch.as_tensor(np.sort(order), device=self.cross.device)
        base = None if self.base is None else self.base[own[:, None], own]
        rows = None if self.rows is None else self.rows[:, own]
        if base is not None and rows is not None:
            base, rows = with_products(base, rows), None
        return Sums(base, self.cross[own], self.n_samples, rows)

    def residual(self, ridge: float, inverse: float, squared: float) -> float:
        """Return ``|Y - A Omega|^2``, of ``tr(B'MB)`` and ``tr(B'MMB)``.

        B is ``A'Y`` and M is ``(A'A + ridge I)^-1``, so ``Omega = M B`` and
        ``|Y - A Omega|^2 = N - tr(Omega'B) - ridge |Omega|^2``.
        """
        return self.n_samples - inverse - ridge * squared

    def left(self, ridge: float, trace: float) -> float:
        """Return ``N - df``, of ``tr(M)``."""
        return self.n_samples - (self.size - ridge * trace)

    def left_out_error(self, ridge: float) -> float:
        """Return the error on data left out, over N."""
        if self.spectrum is None:
            return left_out_error(self.gram, self.cross, self.n_samples, ridge)
        inverse, squared, df = self.spectrum.sums(ridge)
        return self.error(self.residual(ridge, inverse, squared), self.n_samples - df)

    def error(self, residual: float, left: float) -> float:
        """Return the error on data left out, over N."""
        # Where next to nothing is left, rounding would decide: nothing can be told.
        if not residual > NOTHING * self.n_samples or left < 0.01 * self.n_samples:
            return math.inf
        return residual / left**2


@dataclass(frozen=True)
class Regression:
    """A solution: Omega, the ridge, the left-out error, and the factor, if there is one."""

    ridge: float
    error: float
    omega: Tensor
    factor: Factor | None


def left_out_error(gram: Tensor, cross: Tensor, n_samples: float, ridge: float) -> float:
    """Return ``|Y - A Omega|^2 / (N - df)^2``; N times that is the error on samples left out."""
    sums = Sums(gram, cross, n_samples)
    matrix = gram.clone()
    matrix.diagonal().add_(ridge)
    lower, failed = torch.linalg.cholesky_ex(matrix)
    if failed:
        return float("inf")
    n_classes = cross.shape[1]
    columns = torch.cat([cross, sums.probes], dim=1)
    halves = torch.linalg.solve_triangular(lower, columns, upper=False)
    omega = torch.linalg.solve_triangular(lower.T, halves[:, :n_classes], upper=True)
    forms = halves.square().sum(dim=0)
    inverse, trace = float(forms[:n_classes].sum()), float(forms[n_classes:].sum())
    residual = sums.residual(ridge, inverse, float(omega.square().sum()))
    return sums.error(residual, sums.left(ridge, trace))


def regress(sums: Sums, ridge: float | str = "auto", kept: Factor | None = None) -> Regression:
    """Solve ``(A'A + ridge I) Omega = A'Y`` and estimate the error on samples left out.

    The error is that of generalised cross-validation, ``|Y - A Omega|^2 / (N - df)^2`` with
    ``df = tr(A'A (A'A + ridge I)^-1)``. It follows from ``A'A``, ``A'Y`` and N: no sample is held
    out and none is looked at twice, so that the ridge with the least error depends on the total
    of what was seen and not on its order. It is found by walking downhill over a grid of half
    powers of ten times the mean diagonal of ``A'A``. A small matrix starts from a fixed place; a
    large one from where a fixed quarter of its columns ends, seldom more than two steps away; and
    few samples from the largest ridge, since with next to none their error may fall again.

    Parameters
    ----------
    sums
        What is known of everything seen.
    ridge
        Relative to the mean diagonal of ``A'A``, or ``"auto"``: the one with the least error.
    kept
        A factor of ``A'A`` with some ridge. It makes the answer cheaper and never another one.
    """
    if sums.spectrum is not None and ridge != 0:
        value = sums.scale * (GRID[_best(sums)[0]] if isinstance(ridge, str) else ridge)
        return Regression(value, sums.left_out_error(value), sums.spectrum.solution(value), None)
    curve = Curve(sums, kept) if kept is not None and (kept.ridge > 0 or ridge == 0) else None
    if isinstance(ridge, str):
        index, curve = _best(sums, curve)
        value = GRID[index] * sums.scale
    else:
        value = ridge * sums.scale
    if curve is not None and not 0.8 * value <= curve.factor.ridge <= 1.25 * value:
        curve = None
    factor = curve.factor if curve else Factor.of(sums.gram, value)
    if factor is None:
        matrix = sums.gram.clone()
        matrix.diagonal().add_(value)
        error = left_out_error(sums.gram, sums.cross, sums.n_samples, value)
        return Regression(value, error, solve_shared(matrix, sums.cross), None)
    curve = curve or Curve(sums, factor)
    left = sums.left(value, curve.trace(value))
    if factor.ridge == value and not factor.n_rows:
        omega = factor.solve(sums.cross)
    else:
        found = refine(sums.times, value, sums.cross, factor, curve.solution(value))
        if found is None:
            warnings.warn(
                "the kept factorisation is too far from the new sums; factorising these instead.",
                stacklevel=2,
            )
            return regress(sums, value / sums.scale)
        omega = found
    inverse, squared = float((omega * sums.cross).sum()), float(omega.square().sum())
    error = sums.error(sums.residual(value, inverse, squared), left)
    return Regression(value, error, omega, factor)


def _best(sums: Sums, curve: Curve | None = None) -> tuple[int, Curve | None]:
    """Return the point of the grid with the least error, and the curve that has shown it."""
    size = sums.size
    if sums.spectrum is not None:
        start = len(GRID) - 1
    else:
        start = START if size <= COARSE else _best(sums.some(size // 4))[0]

    @functools.cache
    def error(index: int) -> float:
        return sums.left_out_error(GRID[index] * sums.scale)

    while size > DIRECT and sums.spectrum is None:
        if curve is None:
            factor = Factor.of(sums.gram, GRID[start] * sums.scale)
            if factor is None:
                break
            curve = Curve(sums, factor)
        near = curve.near
        best = _downhill(start, curve.lower(error), near) if start in near else start
        if best in near and (best not in (near[0], near[-1]) or best in (0, len(GRID) - 1)):
            return best, curve
        start, curve = best, None

    def lower(i: int, j: int) -> bool:
        return error(i) < (1 - TIED) * error(j)

    return _downhill(start, lower, range(len(GRID))), None


def _downhill(start: int, lower: Callable[[int, int], bool], within: range) -> int:
    """Walk from `start` while a neighbour is lower; of equals the one with the larger ridge."""
    best = start
    while True:
        lowest = best
        for i in (best + 1, best - 1):
            if i in within and (lower(i, lowest) or (i > lowest and not lower(lowest, i))):
                lowest = i
        if lowest == best:
            return best
        best = lowest


class Curve:
    """The left-out error as a function of the ridge, from one factorisation.

    More steps are taken as long as two ridges cannot be told apart; where that does not help they
    are factorised. So the curve never answers otherwise than factorisations would.
    """

    def __init__(self, sums: Sums, factor: Factor) -> None:
        self.sums, self.factor = sums, factor
        self.n_classes = sums.cross.shape[1]

    @functools.cached_property
    def quadrature(self) -> Quadrature:
        """Sums over the spectrum, for ``A'Y`` and the probes."""
        return Quadrature(self.factor, torch.cat([self.sums.cross, self.sums.probes], dim=1))

    @property
    def near(self) -> range:
        """Points of the grid that few steps reach."""
        centre = round(2 * math.log10(self.factor.ridge / self.sums.scale / GRID[0]))
        return range(max(centre - REACH, 0), min(centre + REACH + 1, len(GRID)))

    def lower(self, exact: Callable[[int], float]) -> Callable[[int, int], bool]:
        """Return whether one point of the grid has a lower error than another."""

        def compare(i: int, j: int) -> bool:
            while self.quadrature.n_steps < MOST_STEPS:
                one = self.bounds(GRID[i] * self.sums.scale)
                two = self.bounds(GRID[j] * self.sums.scale)
                if one[1] < two[0] or two[1] < one[0] or one[0] == two[0] == math.inf:
                    return one[0] < two[0]
                self.quadrature.step()
            return exact(i) < exact(j)

        return compare

    def trace(self, ridge: float) -> float:
        """Return ``tr (A'A + ridge I)^-1``, for a ridge close to that of the factor."""
        if ridge == self.factor.ridge and "quadrature" not in vars(self):
            return float((self.sums.probes * self.factor.solve(self.sums.probes)).sum())
        columns, rate = self.quadrature, self.quadrature.rate(ridge)
        trace = math.inf
        for n_steps in itertools.count(1):
            if n_steps > columns.n_steps:
                columns.step()
            before, trace = trace, float(columns.forms(ridge, n_steps)[0][self.n_classes :].sum())
            if rate == 0 or abs(trace - before) * rate <= 1e-11 * trace:
                break
        return trace

    def solution(self, ridge: float) -> Tensor:
        """Return ``(A'A + ridge I)^-1 A'Y``, as good as the steps so far make it."""
        return self.quadrature.solution(ridge, self.n_classes)

    def bounds(self, ridge: float) -> tuple[float, float]:
        """Return the least and the largest error that further steps may lead to.

        Each of the three sums goes one way with every step, by ever less; what is still to come is
        taken as twice a geometric series.
        """
        n_steps, rate = self.quadrature.n_steps, self.quadrature.rate(ridge)
        if n_steps < 2:
            return 0.0, math.inf
        now, before = self._sums(ridge, n_steps), self._sums(ridge, n_steps - 1)
        residual, left = self.sums.residual(ridge, *now[:2]), self.sums.left(ridge, now[2])
        inverse, squared, trace = (
            2 * abs(a - b) * rate / (1 - rate) + ROUNDING * abs(a)
            for a, b in zip(now, before, strict=True)
        )
        doubt, other = inverse + ridge * squared, ridge * trace
        least = self.sums.error(residual - doubt, left + other)
        if self.sums.error(residual + doubt, left + other) < least:  # more steps may tell
            least = 0.0
        return least, self.sums.error(residual + doubt, left - other)

    def _sums(self, ridge: float, n_steps: int) -> tuple[float, float, float]:
        """``tr(B'MB)``, ``tr(B'MMB)`` and ``tr(M)``."""
        inverse, squared = self.quadrature.forms(ridge, n_steps)
        n = self.n_classes
        return float(inverse[:n].sum()), float(squared[:n].sum()), float(inverse[n:].sum())
