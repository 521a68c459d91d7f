"""Standardising columns after their sums were computed: exactly, and in any order."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

from clsnet.arrays.devices import Array, namespace
from clsnet.arrays.linalg import diagonal, product
from clsnet.classifier.ridge.normal_equations import NormalEquations
from clsnet.classifier.ridge.rule import Regression

ROUNDING = 1e-10  # a variance below this share of the mean square is known to few digits
CAUTION = 1.1  # columns of vectors hold outliers, whose leverage an average one understates
LEAST_RIDGE = 1e-4  # what varies by less than 1 % of a column is taken for noise
LEFT_BY_CENTRING = 1e-9  # of the trace: rounding, which 16 digits and `FAINT` leave at most
FAINT = 1e-6  # of the mean square, added to the variance: what rounding would blur counts less


def warn_of_offsets(X: Array) -> None:
    """Warn of columns that vary, but by so little of their size that their sums cannot tell.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     warn_of_offsets(np.array([[5.0, 1e12], [6.0, 1e12 + 3]]))
    >>> print(told[0].message)
    column 1 of these samples varies by less than a 100,000th of its size, which is too little:
    subtract the same number from it everywhere, in all tasks.
    """
    xp = namespace(X)
    varies = xp.max(X, axis=0) > xp.min(X, axis=0)
    middle = X[0]
    lost = varies & (xp.max(xp.abs(X - middle), axis=0) < ROUNDING**0.5 * xp.abs(middle))
    if bool(xp.any(lost)):
        first = int(xp.argmax(xp.astype(lost, xp.int64)))
        warnings.warn(
            f"column {first} of these samples varies by less than a 100,000th of its size, which "
            "is too little: subtract the same number from it everywhere, in all tasks.",
            stacklevel=2,
        )


@dataclass(frozen=True)
class Standardised:
    """The equations of columns with mean 0 and variance 1, and the way back.

    One column of A is constant. Its products with the others are their sums, so means and variances
    follow from ``A'A``. Ridge regression on standardised columns is ridge regression with a penalty
    on each weight that is proportional to the variance of its column, and none on the constant.

    A constant column has no influence, nor have random nodes that see one: their first change,
    such as a word that did not occur before, would move them to where no sample was.

    Attributes
    ----------
    equations
        Those of the standardised columns and centred targets. The constant column is zero in them.
    factor
        What columns were multiplied by; zero where a column is constant.
    sums
        The constant column of ``A'A``.
    targets
        The constant column's row of ``A'Y``.
    intercept
        The number of the constant column.

    Examples
    --------
    >>> import numpy as np
    >>> from clsnet.classifier.ridge.rule import regress
    >>> A = np.array([[1.0, 10.0], [1.0, 10.0], [1.0, 30.0], [1.0, 30.0]])
    >>> Y = np.array([[1.0], [1.0], [0.0], [0.0]])
    >>> found = Standardised.of(NormalEquations(A.T @ A, A.T @ Y, 4), intercept=0)
    >>> found.equations.gram.round(4)
    array([[0., 0.],
           [0., 4.]])
    >>> found.restored(regress(found.equations, ridge=1.0)).omega.round(4)
    array([[ 1.1667],
           [-0.0333]])
    """

    equations: NormalEquations
    factor: Array
    sums: Array
    targets: Array
    intercept: int

    @classmethod
    def of(
        cls, equations: NormalEquations, intercept: int, inputs: Array | None = None
    ) -> Standardised:
        """Standardise all columns but one, which is constant.

        Parameters
        ----------
        equations
            Of the columns as they are.
        intercept
            The number of the constant column.
        inputs
            Which of the first columns each of the next ones, random nodes, sees, if there are any.
        """
        cross, n_samples = equations.cross, equations.n_samples
        xp = namespace(cross)
        gram, rows = None, equations.rows
        if equations.base is None and rows is not None:
            along = rows[:, intercept]
            sums, squares = rows.T @ along, xp.sum(rows**2, axis=0)
            rows = rows - along[:, None] * (sums / sums[intercept])
            spread = xp.sum(rows**2, axis=0)
        else:
            gram, rows = equations.gram, None
            sums, squares = gram[:, intercept], diagonal(gram)
            gram = gram - sums[:, None] * (sums / sums[intercept])
            spread = diagonal(gram)
        varies = spread > ROUNDING * squares
        known = 1 - ROUNDING * squares / xp.where(varies, spread, 1.0)  # so that nothing jumps
        variance = xp.where(varies, spread + FAINT * squares, 1.0) / n_samples
        factor = xp.where(varies, known / variance, 0.0) ** 0.5
        if inputs is not None:
            n_columns, n_nodes = inputs.shape
            still = xp.any(inputs & ~varies[:n_columns, None], axis=0)
            factor[n_columns : n_columns + n_nodes][still] = 0.0
        factor[intercept] = 0.0
        targets = cross[intercept]
        means = targets / sums[intercept]
        standardised = NormalEquations(
            base=None if gram is None else factor[:, None] * gram * factor,
            cross=factor[:, None] * (cross - sums[:, None] * means),
            n_samples=n_samples,
            rows=None if rows is None else rows * factor,
            counts=None,  # with few samples of vectors the expected error rate misleads
            squared_targets=n_samples - float(targets @ means),
            n_fixed=1,
            caution=CAUTION,
            least_ridge=LEAST_RIDGE,
            rounding=LEFT_BY_CENTRING,
        )
        return cls(standardised, factor, sums, targets, intercept)

    def restored(self, found: Regression) -> Regression:
        """Return the solution for A and Y, of one for the standardised columns."""
        omega = self.factor[:, None] * found.omega
        n = self.sums[self.intercept]
        omega[self.intercept] = (self.targets - product(self.sums[None, :], omega)[0]) / n
        n_samples = self.equations.n_samples
        if found.sums is None or found.squares is None:
            return replace(found, omega=omega, df=found.df + 1, factor=None)
        shares = self.targets / (n * n_samples) ** 0.5
        of_means = n_samples * shares[:, None] * shares
        return replace(
            found,
            omega=omega,
            df=found.df + 1,
            sums=found.sums + of_means,
            squares=found.squares + of_means,
            factor=None,
        )
