"""The left-out error as a function of the ridge, from one factorisation."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable

from clsnet.arrays.devices import Array, namespace
from clsnet.classifier.ridge.error_rate import ScoreMoments
from clsnet.classifier.ridge.factor import Factor
from clsnet.classifier.ridge.normal_equations import NormalEquations
from clsnet.classifier.ridge.quadrature import Quadrature

GRID = tuple(10.0 ** (exponent / 2) for exponent in range(-18, 7))
REACH = 3  # half powers of ten over which a quadrature is trusted to converge soon
MOST_STEPS = 16
SOLVED = 1e-5  # error of a solution whose scores are looked at
ROUNDING = 1e-12


class ErrorCurve:
    """The left-out error at every ridge near that of a factor, by Lanczos quadrature.

    More steps are taken as long as two ridges cannot be told apart; where that does not help they
    are factorised. So the curve never answers otherwise than factorisations would.
    """

    def __init__(self, equations: NormalEquations, factor: Factor) -> None:
        self.equations, self.factor = equations, factor
        self.n_classes = equations.cross.shape[1]

    @functools.cached_property
    def quadrature(self) -> Quadrature:
        """Sums over the spectrum, for ``A'Y`` and the probes."""
        cross, probes = self.equations.cross, self.equations.probes
        return Quadrature(self.factor, namespace(cross).concat([cross, probes], axis=1))

    @property
    def near(self) -> range:
        """Points of the grid that few steps reach."""
        return self._around(REACH)

    @property
    def close(self) -> range:
        """Points of the grid that very few steps reach."""
        return self._around(1)

    def _around(self, reach: int) -> range:
        centre = round(2 * math.log10(self.factor.ridge / self.equations.scale / GRID[0]))
        return range(max(centre - reach, 0), min(centre + reach + 1, len(GRID)))

    def lower(self, exact: Callable[[int], float]) -> Callable[[int, int], bool]:
        """Return whether one point of the grid has a lower error than another.

        Parameters
        ----------
        exact
            The error at a point of the grid by a factorisation, for what steps cannot tell apart.
        """

        def compare(i: int, j: int) -> bool:
            while self.quadrature.n_steps < MOST_STEPS:
                one = self.bounds(GRID[i] * self.equations.scale)
                two = self.bounds(GRID[j] * self.equations.scale)
                if one[1] < two[0] or two[1] < one[0] or one[0] == two[0] == math.inf:
                    return one[0] < two[0]
                self.quadrature.step()
            return exact(i) < exact(j)

        return compare

    def trace(self, ridge: float) -> float:
        """Return ``tr (A'A + ridge I)^-1``, for a ridge close to that of the factor."""
        if ridge == self.factor.ridge and "quadrature" not in vars(self):
            probes = self.equations.probes
            return float(namespace(probes).sum(probes * self.factor.solve(probes)))
        columns, rate = self.quadrature, self.quadrature.rate(ridge)
        trace = math.inf
        for n_steps in itertools.count(1):
            if n_steps > columns.n_steps:
                columns.step()
            before, trace = trace, float(columns.forms(ridge, n_steps)[0][self.n_classes :].sum())
            if rate == 0 or abs(trace - before) * rate <= 1e-11 * trace:
                break
        return trace

    def solution(self, ridge: float) -> Array:
        """Return ``(A'A + ridge I)^-1 A'Y``, as good as the steps so far make it."""
        return self.quadrature.solution(ridge, self.n_classes)

    def moments(self, ridge: float) -> ScoreMoments:
        """Return what is known of the scores at a ridge next to that of the factor."""
        rate = self.quadrature.rate(ridge) ** 0.5
        while self.quadrature.n_steps < 2 or rate**self.quadrature.n_steps > SOLVED:
            self.quadrature.step()
        inverse, squared = self.quadrature.forms(ridge)
        n = self.n_classes
        traces = float(inverse[n:].sum()), float(squared[n:].sum())
        return self.equations.moments_of(self.solution(ridge), ridge, *traces)

    def bounds(self, ridge: float) -> tuple[float, float]:
        """Return the least and the largest error that further steps may lead to.

        Each of the three sums goes one way with every step, by ever less; what is still to come is
        taken as twice a geometric series.
        """
        n_steps, rate = self.quadrature.n_steps, self.quadrature.rate(ridge)
        if n_steps < 2:
            return 0.0, math.inf
        now, before = self._sums(ridge, n_steps), self._sums(ridge, n_steps - 1)
        inverse, squared, trace = (
            2 * abs(a - b) * rate / (1 - rate) + ROUNDING * abs(a)
            for a, b in zip(now, before, strict=True)
        )
        residual = self.equations.residual(ridge, *now[:2])
        left = self.equations.left(ridge, now[2])
        doubt, other = inverse + ridge * squared, self.equations.caution * ridge * trace
        least = self.equations.error(residual - doubt, left + other)
        if self.equations.error(residual + doubt, left + other) < least:  # more steps may tell
            least = 0.0
        return least, self.equations.error(residual + doubt, left - other)

    def _sums(self, ridge: float, n_steps: int) -> tuple[float, float, float]:
        """``tr(B'MB)``, ``tr(B'MMB)`` and ``tr(M)``."""
        inverse, squared = self.quadrature.forms(ridge, n_steps)
        n = self.n_classes
        return float(inverse[:n].sum()), float(squared[:n].sum()), float(inverse[n:].sum())
