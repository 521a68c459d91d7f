"""Few samples: a factor of their Gram matrix that is smaller than the matrix."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Collection, Sequence

import numpy as np

from clsnet.arrays.devices import Array, device_of, namespace, to_device
from clsnet.arrays.gram import plus_gram
from clsnet.arrays.linalg import diagonal, eigh, epsilon, triangular_factor
from clsnet.classifier.curvatures.base import Trace, union
from clsnet.classifier.curvatures.full import ALIKE, NOT_THERE, FullTrace
from clsnet.classifier.curvatures.upper_triangle import UpperTriangle
from clsnet.classifier.solvers import System
from clsnet.classifier.sums import FEW, Label, RunningSums
from clsnet.errors import ClsnetError

ROUNDING = 1e-9  # relative; samples that differ by less from those learned are the same


class FewSamples(FullTrace):
    """Few samples: `rows` is an upper trapezoidal factor R of their Gram matrix, ``R'R = A'A``.

    It is smaller than the matrix, tells exactly as much, and holds no sample's row.
    """

    def __init__(self, labels: list[Label], rows: Array, cross: Array, n_samples: float) -> None:
        self.labels, self.rows, self.cross, self.n_samples = labels, rows, cross, n_samples

    @functools.cached_property
    def gram(self) -> Array:
        """``A'A``."""
        size, xp = self.rows.shape[1], namespace(self.rows)
        zero = xp.zeros((size, size), dtype=self.rows.dtype, device=device_of(self.rows))
        return plus_gram(zero, self.rows)

    @property
    def dense(self) -> FullTrace:
        """The Gram matrix itself."""
        return FullTrace(self.labels, self.gram, self.cross, self.n_samples)

    def add_to(self, system: System, labels: Sequence[Label], gamma: float) -> None:
        """Add ``gamma A'A`` and ``gamma A'Y``."""
        system.shared += gamma * (self.rows.T @ self.rows)
        system.rhs += gamma * self.columns(labels)

    def merge(self, other: Trace, gamma: float = 1.0) -> FullTrace:
        """Factorise the rows of both, or sum both matrices if these are no longer few."""
        most = self.rows.shape[1] // FEW
        if not isinstance(other, FewSamples) or len(self.rows) + len(other.rows) > most:
            return self.dense.merge(other, gamma)
        labels = union(self.labels, other.labels)
        both = namespace(self.rows).concat([self.rows, gamma**0.5 * other.rows])
        cross = self.columns(labels) + gamma * other.columns(labels)
        n_samples = self.n_samples + gamma * other.n_samples
        return FewSamples(labels, trapezoid(both), cross, n_samples)

    def less(self, part: FullTrace) -> FewSamples:
        """Take samples out again, given their own trace; labels stay, even without samples.

        With ``R = U S V'``, what is left of ``R'R`` is ``V (S^2 - C'C) V'``, C being the samples in
        the directions V. It has one direction less for every sample that was learned.
        """
        n_left = len(self.rows) - len(part.rows) if isinstance(part, FewSamples) else 0
        if not isinstance(part, FewSamples) or n_left < 1:
            raise ClsnetError(NOT_THERE)
        xp = namespace(self.rows)
        _, sizes, directions = xp.linalg.svd(self.rows, full_matrices=False)
        inside = part.rows @ directions.T
        squares = -inside.T @ inside
        own = diagonal(squares)
        own += sizes**2
        values, vectors = eigh(squares)
        outside = part.rows - inside @ directions
        _check_misfit(values[:-n_left], outside, part.rows)
        rows = (vectors[:, -n_left:] * xp.clip(values[-n_left:], min=0) ** 0.5).T @ directions
        cross = self.cross - part.columns(self.labels)
        return FewSamples(self.labels, trapezoid(rows), cross, self.n_samples - part.n_samples)

    def added_to(self, gram: Array, gamma: float) -> Array:
        """Return ``gram + gamma A'A``."""
        return plus_gram(gram, gamma**0.5 * self.rows)

    def times(self, gamma: float) -> FewSamples:
        """Scale the factor and the sums."""
        rows, cross = gamma**0.5 * self.rows, gamma * self.cross
        return FewSamples(self.labels, rows, cross, gamma * self.n_samples)

    def without(self, labels: Collection[Label]) -> FewSamples:
        """Drop columns of ``A'Y``."""
        kept = [label for label in self.labels if label not in labels]
        return FewSamples(kept, self.rows, self.columns(kept), self.n_samples)

    @staticmethod
    def shapes(dimension: int, n_labels: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of `arrays`."""
        return {"rows": (-1, dimension), "cross": (dimension, n_labels)}

    def arrays(self) -> dict[str, Array]:
        """Return the factor and the sums."""
        return {"rows": self.rows, "cross": self.cross}


def _check_misfit(lost: Array, outside: Array, rows: Array) -> None:
    """Refuse samples that were not learned; warn of those that look a little different now.

    Parameters
    ----------
    lost
        Squares in the directions that are lost with the samples: zero if all is as it was.
    outside
        What the samples have in directions that no learned sample has.
    rows
        The samples.
    """
    xp = namespace(rows)
    scale = max(float(xp.max(xp.sum(rows**2, axis=1))), float(xp.finfo(rows.dtype).tiny))
    misfit = max(
        float(xp.max(xp.abs(lost))) / scale,
        (float(xp.max(xp.sum(outside**2, axis=1))) / scale) ** 0.5,
    )
    if misfit > ALIKE:
        raise ClsnetError(NOT_THERE)
    if misfit > ROUNDING:
        warnings.warn(
            f"the samples differ by {misfit:.0e} from those learned, as if another machine had "
            "computed them; so much of them stays.",
            stacklevel=2,
        )


def trace_of(seen: RunningSums) -> FullTrace:
    """Return the full curvature of a task, as a factor where samples are few."""
    labels, n_samples, rows = seen.labels, seen.n_samples, seen.rows
    if rows is not None:
        return FewSamples(labels, trapezoid(rows), seen.cross(labels), n_samples)
    return UpperTriangle(labels, seen.upper, seen.cross(labels), n_samples)


def trapezoid(A: Array) -> Array:
    """Return the upper trapezoidal R with ``R'R = A'A`` that follows from this product alone.

    Where leading columns depend on each other there are many such R, and a plain factorisation
    can leave rows of A as they are. A fixed random mixture of all columns then selects one R.

    Examples
    --------
    >>> trapezoid(np.array([[0.0, 5.0, 1.0], [-2.0, 2.0, 3.0]])).round(4)
    array([[ 2., -2., -3.],
           [ 0.,  5.,  1.]])
    """
    xp = namespace(A)
    R = triangular_factor(A)
    pivots = xp.abs(diagonal(R[:, : len(A)]))
    if float(xp.min(pivots)) <= len(A) * epsilon(A) * float(xp.max(pivots)):
        drawn = np.random.RandomState(0).standard_normal((A.shape[1], len(A)))
        mixing = xp.astype(to_device(drawn, device_of(A)), A.dtype)
        R = _positive(triangular_factor(xp.concat([A @ mixing, A], axis=1)))[:, len(A) :]
        R = triangular_factor(R)
    return _positive(R)


def _positive(R: Array) -> Array:
    """Choose the sign of each row so that the diagonal is positive."""
    xp = namespace(R)
    signs = xp.where(diagonal(R[:, : len(R)]) < 0, -1.0, 1.0)
    return xp.astype(signs, R.dtype)[:, None] * R
