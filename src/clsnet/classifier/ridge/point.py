"""All that ridge regression needs to know at one ridge, from one factorisation."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

from clsnet.arrays.devices import Array, namespace
from clsnet.arrays.linalg import cholesky, solve_lower
from clsnet.classifier.ridge.error_rate import ScoreMoments
from clsnet.classifier.ridge.factor import Factor, is_sound

if TYPE_CHECKING:
    from clsnet.classifier.ridge.normal_equations import NormalEquations


class Point:
    """A ridge, and what follows from the Cholesky factor L of ``A'A + ridge I``.

    Each part is computed when it is first asked for. With B for ``A'Y`` and V for the probes, the
    error needs only half a solution, ``L^-1 [B V]``, since ``v'(L L')^-1 v = |L^-1 v|^2``.

    Parameters
    ----------
    equations
        Of the data.
    ridge
        The ridge itself, not relative to anything.
    factor
        A factor that is at hand; one of another ridge, or with rows of its own, is of no use.

    Examples
    --------
    >>> import numpy as np
    >>> from clsnet.classifier.ridge.normal_equations import NormalEquations
    >>> point = Point(NormalEquations(np.eye(2), np.eye(2), n_samples=2), ridge=1.0)
    >>> point.omega.round(2)
    array([[0.5, 0. ],
           [0. , 0.5]])
    >>> round(point.trace, 9), round(point.df, 9)
    (1.0, 1.0)
    """

    def __init__(
        self, equations: NormalEquations, ridge: float, factor: Factor | None = None
    ) -> None:
        self.equations, self.ridge = equations, ridge
        if factor is not None and factor.ridge == ridge and not factor.n_rows:
            self.factor = factor
            self._lower = factor.lower

    @cached_property
    def error(self) -> float:
        """The error on data left out, over N; infinite if there is no factor."""
        if self._lower is None:
            return math.inf
        inverse = float(namespace(self._forms).sum(self._forms[: self._n_classes]))
        squared = float(namespace(self.omega).sum(self.omega**2))
        residual = self.equations.residual(self.ridge, inverse, squared)
        return self.equations.error(residual, self.equations.left(self.ridge, self.trace))

    @cached_property
    def moments(self) -> ScoreMoments | None:
        """What is known of the scores ``A Omega``, or None where rounding hides the solution."""
        if self.factor is None:
            return None
        solved = solve_lower(self._lower, self._halves[:, self._n_classes :], transposed=True)
        squared = float(namespace(solved).sum(solved**2))
        return self.equations.moments_of(self.omega, self.ridge, self.trace, squared)

    @cached_property
    def omega(self) -> Array:
        """``(A'A + ridge I)^-1 A'Y``."""
        return solve_lower(self._lower, self._halves[:, : self._n_classes], transposed=True)

    @cached_property
    def trace(self) -> float:
        """``tr (A'A + ridge I)^-1``, by the probes."""
        return float(namespace(self._forms).sum(self._forms[self._n_classes :]))

    @property
    def df(self) -> float:
        """Degrees of freedom."""
        return self.equations.size - self.ridge * self.trace

    @cached_property
    def factor(self) -> Factor | None:
        """The factor, unless a pivot is mere rounding."""
        lower, gram = self._lower, self.equations.gram
        sound = lower is not None and is_sound(lower, gram, self.ridge)
        return Factor(lower, self.ridge) if sound else None

    @cached_property
    def _lower(self) -> Array | None:
        return cholesky(self.equations.gram, self.ridge)

    @cached_property
    def _halves(self) -> Array:
        cross, probes = self.equations.cross, self.equations.probes
        return solve_lower(self._lower, namespace(cross).concat([cross, probes], axis=1))

    @cached_property
    def _forms(self) -> Array:
        return namespace(self._halves).sum(self._halves**2, axis=0)

    @property
    def _n_classes(self) -> int:
        return int(self.equations.cross.shape[1])
