"""What ridge regression needs of data, and generalised cross-validation from it."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import numpy as np

from clsnet.arrays.devices import Array, device_of, namespace, to_device, to_numpy
from clsnet.arrays.gram import plus_gram
from clsnet.arrays.linalg import diagonal, indices, product
from clsnet.classifier.ridge.error_rate import ScoreMoments
from clsnet.classifier.ridge.factor import Factor
from clsnet.classifier.ridge.point import Point
from clsnet.classifier.ridge.spectrum import (
    DIRECT,
    Spectrum,
    most_decomposed,
    most_few,
    random_signs,
    spanning,
)

PROBES = 64
NEGLIGIBLE = 1e-9  # a residual below this share of the targets counts as none


@dataclass(frozen=True)
class NormalEquations:
    """``(A'A + ridge I) Omega = A'Y`` for any ridge: ``A'A``, ``A'Y`` with one-hot rows, and N.

    Where samples are weighted, N is the sum of their weights.

    Attributes
    ----------
    base
        ``A'A``, except for `rows`; None if there are no other rows.
    cross
        ``A'Y``.
    n_samples
        N.
    rows
        A few rows of A, or a factor of their Gram matrix. It is multiplied only if it must be.
    counts
        Samples of each class, in the order of the columns of `cross`, if they are known.
    squared_targets
        ``|Y|^2``, if it is not N, as it is of one-hot rows.
    n_fixed
        Degrees of freedom that are used already: one where the mean was taken off A and Y.
    caution
        How much each further degree of freedom counts in generalised cross-validation. More than 1
        makes it less likely that an error looks small because it could not be told from noise.
    least_ridge
        The smallest ridge to choose, relative to the mean diagonal of ``A'A``.
    rounding
        The share of the trace of ``A'A`` that may be rounding, if that is more than of one product.
    """

    base: Array | None
    cross: Array
    n_samples: float
    rows: Array | None = None
    counts: np.ndarray | None = None
    squared_targets: float | None = None
    n_fixed: int = 0
    caution: float = 1.0
    least_ridge: float = 0.0
    rounding: float = 0.0

    @property
    def size(self) -> int:
        """Number of columns of A."""
        return len(self.cross)

    @functools.cached_property
    def gram(self) -> Array:
        """``A'A``."""
        base = self.base
        if base is None:
            xp = namespace(self.cross)
            shape = (self.size, self.size)
            base = xp.zeros(shape, dtype=self.cross.dtype, device=device_of(self.cross))
        return base if self.rows is None else plus_gram(base, self.rows)

    @property
    def few(self) -> bool:
        """Whether samples are few beside the columns, even if rounding hides what they span."""
        return self.n_samples <= most_few(self.size)

    @functools.cached_property
    def spectrum(self) -> Spectrum | None:
        """Eigenvalues and eigenvectors, if samples or columns are so few that they pay."""
        rows = self.rows if self.base is None else None
        if self.few and rows is None:
            rows = spanning(self.gram, self.n_samples, self.rounding)
        if rows is not None and self.n_samples <= most_decomposed(self.size):
            return Spectrum(rows, self.cross)
        return Spectrum.of_gram(self.gram, self.cross) if self.size <= DIRECT else None

    @functools.cached_property
    def scale(self) -> float:
        """Mean diagonal of ``A'A``: what ridges are relative to."""
        xp = namespace(self.cross)
        known = 0.0 if self.base is None else float(xp.mean(diagonal(self.base)))
        missing = 0.0 if self.rows is None else float(xp.sum(self.rows**2)) / self.size
        return known + missing or 1.0

    def times(self, x: Array) -> Array:
        """Return ``A'A x``."""
        image = namespace(x).zeros_like(x) if self.base is None else product(self.base, x)
        if self.rows is not None:
            image += product(self.rows.T, product(self.rows, x))
        return image

    @functools.cached_property
    def probes(self) -> Array:
        """Columns v for ``tr(M) = sum v'Mv``: the identity, or random signs where they suffice.

        Random signs make it the Hutchinson estimator. The trace is at most N and corrects N: known
        to ``sqrt(2 N / probes)`` it is known well enough.
        """
        n_probes = PROBES if self.n_samples > 4 * self.size else 4 * PROBES
        if self.size <= n_probes:
            probes = np.eye(self.size)
        else:
            probes = random_signs(self.size, n_probes) / n_probes**0.5
        xp = namespace(self.cross)
        return xp.astype(to_device(probes, device_of(self.cross)), self.cross.dtype, copy=False)

    def some(self, n_columns: int) -> NormalEquations:
        """Return the equations of some columns of A, always the same."""
        order = np.random.RandomState(0).permutation(self.size)[:n_columns]
        own = indices(np.sort(order), device_of(self.cross))
        base = None if self.base is None else self.base[own[:, None], own]
        rows = None if self.rows is None else self.rows[:, own]
        if base is not None and rows is not None:
            base, rows = plus_gram(base, rows), None
        return replace(self, base=base, cross=self.cross[own], rows=rows)

    def residual(self, ridge: float, inverse: float, squared: float) -> float:
        """Return ``|Y - A Omega|^2``, of ``tr(B'MB)`` and ``tr(B'MMB)``.

        B is ``A'Y`` and M is ``(A'A + ridge I)^-1``, so ``Omega = M B`` and
        ``|Y - A Omega|^2 = |Y|^2 - tr(Omega'B) - ridge |Omega|^2``.
        """
        targets = self.n_samples if self.squared_targets is None else self.squared_targets
        return targets - inverse - ridge * squared

    def left(self, ridge: float, trace: float) -> float:
        """Return ``N - df``, of ``tr(M)``."""
        return self._left(self.size - ridge * trace)

    def left_out_error(self, ridge: float) -> float:
        """Return the error on data left out, over N: generalised cross-validation."""
        if self.spectrum is None:
            return left_out_error(self, ridge)
        inverse, squared, df = self.spectrum.sums(ridge)
        return self.error(self.residual(ridge, inverse, squared), self._left(df))

    def _left(self, df: float) -> float:
        return self.n_samples - self.n_fixed - self.caution * df

    def score_moments(self, ridge: float, factor: Factor | None = None) -> ScoreMoments | None:
        """Return what is known of the scores ``A Omega``, or None if there is no solution.

        Parameters
        ----------
        ridge
            The ridge.
        factor
            A factor of ``A'A + ridge I``; one of another ridge is of no use.
        """
        if self.spectrum is not None:
            return replace(self.spectrum.moments(ridge), centred=self.n_fixed > 0)
        return Point(self, ridge, factor).moments

    def moments_of(
        self, omega: Array, ridge: float, trace: float, trace_of_square: float
    ) -> ScoreMoments:
        """Return what is known of the scores ``A Omega``, of ``tr(M)`` and ``tr(M^2)``.

        With M for ``(A'A + ridge I)^-1`` and H for ``A M A'``, ``tr(H) = D - ridge tr(M)`` and
        ``tr(H^2) = D - 2 ridge tr(M) + ridge^2 tr(M^2)``.
        """
        sums = to_numpy(self.cross.T @ omega)
        squares = sums - ridge * to_numpy(omega.T @ omega)
        df = self.size - ridge * trace
        noise = df - ridge * trace + ridge**2 * trace_of_square
        return ScoreMoments(sums, squares, df, noise, centred=self.n_fixed > 0)

    def error(self, residual: float, left: float) -> float:
        """Return the error on data left out, over N; infinite where rounding would decide it."""
        if not residual > NEGLIGIBLE * self.n_samples or left < 0.01 * self.n_samples:
            return math.inf
        return residual / left**2


def left_out_error(equations: NormalEquations, ridge: float) -> float:
    """Return the error on data left out, over N, by a Cholesky factorisation."""
    return Point(equations, ridge).error
