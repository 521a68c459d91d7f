"""Ridge regression from sums alone, with the ridge that suits them."""

from __future__ import annotations

import bisect
import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from clsnet.arrays.devices import Array
from clsnet.arrays.linalg import dot
from clsnet.classifier.ridge.error_curve import GRID, ErrorCurve
from clsnet.classifier.ridge.error_rate import ScoreMoments, doubt, expected_error_rate
from clsnet.classifier.ridge.factor import Factor
from clsnet.classifier.ridge.normal_equations import NormalEquations, left_out_error
from clsnet.classifier.ridge.point import Point
from clsnet.classifier.ridge.spectrum import Spectrum
from clsnet.classifier.solvers import refine, solve_shared

START = GRID.index(1e-5)
TIED = 1e-9  # errors that differ by less are the same, such as all those of a single sample
COARSE = 512  # up to this size the walk begins at START, beyond where a quarter of the columns ends
TRUSTED = 0.62  # of N in degrees of freedom; with more, a small left-out error may be luck
SURE = 3.0  # standard errors by which a smaller ridge must promise fewer wrong answers
AMPLE = 2  # samples per column from which a smaller ridge hardly adds noise
LIKELY = 1.0  # standard errors that are enough to lower the ridge at all where samples are ample
MOST_CLASSES = 2000  # error rates take the square of their number
MOST_PAIRED = 5000  # classes of which all pairs are looked at to turn scores into probabilities


@dataclass(frozen=True)
class Solution:
    """How weights were found: the ridge, and the degrees of freedom that it leaves."""

    ridge: float
    df: float


@dataclass(frozen=True)
class Regression:
    """A solution of ``(A'A + ridge I) Omega = A'Y``.

    Attributes
    ----------
    ridge, omega
        As in the equation.
    error
        On samples left out, over N.
    df
        Degrees of freedom.
    sums
        ``Y'A Omega``: scores added up over the samples of each class. None with very many classes,
        since it takes the square of their number.
    squares
        ``Omega'A'A Omega``: products of the scores of a sample, added up over all samples, or None.
    factor
        Of ``A'A + ridge I``, if there is one.
    """

    ridge: float
    omega: Array
    error: float
    df: float
    sums: Array | None
    squares: Array | None
    factor: Factor | None

    @classmethod
    def of(
        cls,
        equations: NormalEquations,
        ridge: float,
        omega: Array,
        error: float,
        df: float,
        factor: Factor | None = None,
    ) -> Regression:
        """Return a solution with what its equations say of its scores."""
        if omega.shape[1] > MOST_PAIRED:
            return cls(ridge, omega, error, df, None, None, factor)
        sums = equations.cross.T @ omega
        squares = sums - ridge * (omega.T @ omega)
        return cls(ridge, omega, error, df, sums, squares, factor)


def regress(
    equations: NormalEquations, ridge: float | str = "auto", kept: Factor | None = None
) -> Regression:
    """Solve ``(A'A + ridge I) Omega = A'Y`` and estimate the error on samples left out.

    The error is that of generalised cross-validation, ``|Y - A Omega|^2 / (N - df)^2`` with
    ``df = tr(A'A (A'A + ridge I)^-1)``. It follows from ``A'A``, ``A'Y`` and N: no sample is held
    out or read twice, so the best ridge depends on the total of what was seen and not on its order.
    It is found by walking downhill over a grid of half powers of ten times the mean diagonal of
    ``A'A``. A small matrix starts from a fixed point; a large one from where a fixed quarter of its
    columns ends, seldom more than two steps away; few samples start from the largest ridge, since
    at very small ones their error may fall again.

    With few samples the least error may be luck: while the degrees of freedom exceed 0.62 N, the
    next larger ridge is tried, and no ridge below is chosen later.

    The least squared error is not the least number of wrong answers, which often needs a smaller
    ridge. The error rate to expect follows from the same sums and the class counts
    (`expected_error_rate`). From the ridge of generalised cross-validation the ridge is lowered
    only as far as this rate falls by more than three standard errors. With more than twice as many
    samples as columns the noise of a smaller ridge is little. There one standard error is enough to
    lower the ridge at all, and where it is lowered, it is lowered by one step more, since the rate
    is known to err on the side of a large ridge.

    Parameters
    ----------
    equations
        The sums over everything seen.
    ridge
        Relative to the mean diagonal of ``A'A``; or ``"gcv"``: the one with the least left-out
        error; or ``"auto"``: a smaller one where that promises fewer wrong answers.
    kept
        A factor of ``A'A`` with some ridge. It makes the answer cheaper and never another one.
    """
    soon = isinstance(ridge, str) or (ridge != 0 and equations.few)
    if soon and equations.spectrum is not None:
        return _by_spectrum(equations, equations.spectrum, ridge)
    scale = equations.scale
    usable = kept is not None and (kept.ridge > 0 or ridge == 0)
    curve = ErrorCurve(equations, kept) if kept is not None and usable else None
    if isinstance(ridge, str):
        index, curve = _chosen(equations, ridge, curve)
        value = GRID[index] * scale
    else:
        value = ridge * scale
    if curve is not None and 0.8 * value <= curve.factor.ridge <= 1.25 * value:
        return _by_factor(equations, value, curve)
    return _by_point(Point(equations, value))


def _by_spectrum(equations: NormalEquations, spectrum: Spectrum, ridge: float | str) -> Regression:
    """Solve by eigenvectors, at a ridge that is given or chosen."""
    relative = GRID[_chosen(equations, ridge)[0]] if isinstance(ridge, str) else ridge
    value = relative * equations.scale
    error, df = equations.left_out_error(value), spectrum.sums(value)[2]
    return Regression.of(equations, value, spectrum.solution(value), error, df)


def _by_point(point: Point) -> Regression:
    """Solve for one ridge, by a factor of its own."""
    if point.factor is None:
        return _least_norm(point.equations, point.ridge)
    found = point.omega, point.error, point.df, point.factor
    return Regression.of(point.equations, point.ridge, *found)


def _by_factor(equations: NormalEquations, value: float, curve: ErrorCurve) -> Regression:
    """Solve for one ridge, by a factor of that ridge or of one close to it."""
    factor, cross, trace = curve.factor, equations.cross, curve.trace(value)
    if factor.ridge == value and not factor.n_rows:
        omega = factor.solve(cross)
    else:
        found = refine(equations.times, value, cross, factor, curve.solution(value))
        if found is None:
            warnings.warn(
                "the kept factorisation is too far from the new sums; factorising these instead.",
                stacklevel=2,
            )
            return regress(equations, value / equations.scale)
        omega = found
    inverse, squared = dot(omega, cross), dot(omega, omega)
    residual = equations.residual(value, inverse, squared)
    error = equations.error(residual, equations.left(value, trace))
    return Regression.of(equations, value, omega, error, equations.size - value * trace, factor)


def _least_norm(equations: NormalEquations, value: float) -> Regression:
    """Solve a system that has no factor; its degrees of freedom count as all that there can be."""
    error = left_out_error(equations, value)
    omega = solve_shared(equations.gram, equations.cross, value)
    df = min(equations.n_samples - equations.n_fixed, equations.size)
    return Regression.of(equations, value, omega, error, df)


def _chosen(
    equations: NormalEquations, rule: str, curve: ErrorCurve | None = None
) -> tuple[int, ErrorCurve | None]:
    """Return the point of the grid that a rule chooses, and a curve around it, if there is one."""
    start, curve = _best(equations, curve)
    counts = equations.counts
    if rule == "gcv" or counts is None or not 2 <= len(counts) <= MOST_CLASSES or not counts.all():
        return start, curve

    def moments(index: int) -> ScoreMoments | None:
        ridge = GRID[index] * equations.scale
        if curve is not None and curve.factor.n_rows and index in curve.close:
            return curve.moments(ridge)  # the matrix has no factor yet
        return equations.score_moments(ridge, None if curve is None else curve.factor)

    while (found := moments(start)) and found.df > TRUSTED * equations.n_samples:
        if start == len(GRID) - 1:
            break
        start += 1
    known: list[float] = []  # error rates at the start and below it
    for index in range(start, _grid(equations)[0] - 1, -1):
        found = found if index == start else moments(index)
        rate = 1.0 if found is None else expected_error_rate(found, counts)
        fitted = found is None or found.df > TRUSTED * equations.n_samples
        if known and (fitted or rate >= known[-1]):
            break
        known.append(rate)

    def steps(standard_errors: float) -> int:
        allowed = known[-1] + standard_errors * doubt(known[-1], equations.n_samples)
        return next(i for i, rate in enumerate(known) if rate <= allowed)

    lowered = steps(SURE)
    if equations.n_samples > AMPLE * equations.size and (lowered := lowered or steps(LIKELY)):
        lowered += 1
    return max(start - lowered, 0), curve


def _best(
    equations: NormalEquations, curve: ErrorCurve | None = None
) -> tuple[int, ErrorCurve | None]:
    """Return the point of the grid with the least error, and the curve that has shown it."""
    size, few, within = equations.size, equations.few, _grid(equations)
    if few:
        start = len(GRID) - 1
    else:
        start = START if size <= COARSE else _best(equations.some(size // 4))[0]
    start = max(start, within[0])

    @functools.cache
    def error(index: int) -> float:
        return equations.left_out_error(GRID[index] * equations.scale)

    for _ in GRID if equations.spectrum is None and not few else ():
        if curve is None:
            factor = Factor.of(equations.gram, GRID[start] * equations.scale)
            if factor is None:
                break
            curve = ErrorCurve(equations, factor)
        near = range(max(curve.near[0], within[0]), curve.near[-1] + 1)
        best = _downhill(start, curve.lower(error), near) if start in near else start
        if best in near and (best not in (near[0], near[-1]) or best in (within[0], within[-1])):
            return best, curve
        start, curve = best, None

    def lower(i: int, j: int) -> bool:
        return error(i) < (1 - TIED) * error(j)

    return _downhill(start, lower, within), None


def _grid(equations: NormalEquations) -> range:
    """Return the points of the grid that may be chosen."""
    return range(bisect.bisect_left(GRID, equations.least_ridge), len(GRID))


def _downhill(start: int, lower: Callable[[int, int], bool], within: range) -> int:
    """Walk from `start` while a neighbour is lower; of equals the one with the larger ridge."""
    best = start
    for _ in within:  # the sums of no data, which a damaged file may hold, could go on forever
        lowest = best
        for i in (best + 1, best - 1):
            if i in within and (lower(i, lowest) or (i > lowest and not lower(lowest, i))):
                lowest = i
        if lowest == best:
            break
        best = lowest
    return best
