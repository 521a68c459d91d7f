"""The consolidated solution Omega_{1:T}: from sums over everything, or from the objective."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clsnet.arrays.devices import Array, device_of, namespace, to_numpy
from clsnet.arrays.linalg import contiguous, diagonal
from clsnet.classifier.calibration import Calibration
from clsnet.classifier.curvatures import FullTrace, Trace
from clsnet.classifier.curvatures.pending_rows import PendingRows
from clsnet.classifier.curvatures.total import few_together
from clsnet.classifier.ridge.factor import Factor
from clsnet.classifier.ridge.normal_equations import NormalEquations, left_out_error
from clsnet.classifier.ridge.rule import Regression, regress
from clsnet.classifier.ridge.standardised import Standardised
from clsnet.classifier.solvers import System
from clsnet.classifier.sums import TOO_LARGE, Label
from clsnet.errors import ClsnetError


def solve_columns(
    equations: NormalEquations,
    ridge: float | str,
    intercept: int | None = None,
    kept: Factor | None = None,
    inputs: Array | None = None,
) -> Regression:
    """Solve for the weights of columns as they are or, if one is constant, standardised."""
    if intercept is None:
        return regress(equations, ridge, kept)
    scaled = Standardised.of(equations, intercept, inputs)
    return scaled.restored(regress(scaled.equations, ridge))


def equations_of(seen: FullTrace, labels: Sequence[Label], sizes: np.ndarray) -> NormalEquations:
    """Return the equations of sums over everything, in the form that is cheapest to solve.

    Parameters
    ----------
    seen
        The sums.
    labels
        One for each column of the solution.
    sizes
        How many samples of each class count.
    """
    cross, n_samples = seen.columns(labels), seen.n_samples
    if isinstance(seen, PendingRows):
        return NormalEquations(seen.base, cross, n_samples, seen.rows, sizes)
    if few := few_together([seen]):
        return NormalEquations(None, cross, n_samples, few[0].rows, sizes)
    return NormalEquations(seen.gram, cross, n_samples, counts=sizes)


def calibrated(found: Regression, sizes: np.ndarray, n_samples: float) -> Calibration:
    """Return how the scores of a solution become probabilities, given the sizes of classes."""
    if found.sums is None or found.squares is None:
        return Calibration.of_noise(n_samples * found.error / len(sizes))
    return Calibration.of_sums(to_numpy(found.sums), to_numpy(found.squares), sizes, found.df)


def solve_objective(
    current: FullTrace,
    old: Sequence[tuple[Trace, float]],
    previous: Array | None,
    labels: Sequence[Label],
    ridge: float | str,
    intercept: int | None,
    inputs: Array | None = None,
) -> tuple[Array, Calibration]:
    """Solve the objective for Omega_{1:T} (Eq. varOmega_cc) and calibrate its scores.

    Parameters
    ----------
    current
        The sums of the current task, the first term.
    old
        The traces of old tasks and how much each counts, if the second term is used.
    previous
        Omega_{1:T-1}, if the third term is used; its classes are the first ones.
    labels
        All classes.
    ridge
        As in `Rule`.
    intercept
        The number of a constant column, if the others are to be standardised.
    inputs
        Which columns each random node sees, as in `Standardised.of`.
    """
    system = System.zeros(len(current.cross), len(labels), device_of(current.cross))
    current.add_to(system, labels, 1.0)
    n_samples = current.n_samples
    for trace, weight in old:
        trace.add_to(system, labels, weight)
        n_samples += weight * trace.n_samples
    gram, cross = system.shared, system.rhs
    if system.diagonal is not None:
        # A diagonal is no Gram matrix of data: ridge and noise come from the task itself.
        gram, cross, n_samples = current.gram, current.cross, current.n_samples
    equations = NormalEquations(gram, cross, n_samples)
    if previous is None:
        alone = solve_columns(equations, ridge, intercept, inputs=inputs)
        shift, error, omega = alone.ridge, alone.error, alone.omega
    else:
        shift, error = 1.0, left_out_error(equations, 1.0)
        system.rhs[:, : previous.shape[1]] += previous
    if previous is not None or system.diagonal is not None:
        own = diagonal(system.shared)
        own += shift
        omega = system.solve()
    xp = namespace(omega)
    if not bool(xp.all(xp.isfinite(omega))):
        raise ClsnetError(TOO_LARGE)
    # In the layout in which it is saved: another one would round otherwise.
    return contiguous(omega), Calibration.of_noise(n_samples * error / len(labels))
