"""The full curvature: the Gram matrix of a task."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from clsnet.arrays.devices import Array, namespace
from clsnet.arrays.linalg import add_scaled, diagonal
from clsnet.classifier.curvatures.base import Trace, columns, union, zero_column
from clsnet.classifier.solvers import System
from clsnet.classifier.sums import Label
from clsnet.errors import ClsnetError

NOT_THERE = "these samples are not among those that were learned: they cannot be taken out."
ALIKE = 1e-3  # relative; samples that differ by more from those learned are others


class FullTrace(Trace):
    """The exact Hessian ``A_t'A_t`` and ``A_t'Y_t``: the Laplace approximation without the error.

    One matrix serves all classes. A class that appears later needs nothing: its targets on old
    data are zero, and so is its column.
    """

    def __init__(self, labels: list[Label], gram: Array, cross: Array, n_samples: float) -> None:
        self.labels, self.gram, self.cross, self.n_samples = labels, gram, cross, n_samples

    def add_to(self, system: System, labels: Sequence[Label], gamma: float) -> None:
        """Add ``gamma A'A`` and ``gamma A'Y``."""
        add_scaled(system.shared, self.gram, gamma)
        system.rhs += gamma * self.columns(labels)

    def merge(self, other: Trace, gamma: float = 1.0) -> FullTrace:
        """Sum both matrices."""
        assert isinstance(other, FullTrace)
        labels = union(self.labels, other.labels)
        cross = self.columns(labels) + gamma * other.columns(labels)
        gram = other.added_to(self.gram, gamma)
        return FullTrace(labels, gram, cross, self.n_samples + gamma * other.n_samples)

    def less(self, part: FullTrace) -> FullTrace:
        """Take samples out again, given their own trace; labels stay, even without samples."""
        left = self.merge(part.dense, -1.0)
        squares = diagonal(left.gram)
        if float(namespace(squares).min(squares + ALIKE * diagonal(part.gram))) < 0:
            raise ClsnetError(NOT_THERE)
        return left

    def added_to(self, gram: Array, gamma: float) -> Array:
        """Return ``gram + gamma A'A``."""
        if gamma == 1:
            return gram + self.gram
        total = gamma * self.gram
        total += gram
        return total

    def times(self, gamma: float) -> FullTrace:
        """Scale both matrices."""
        return FullTrace(self.labels, gamma * self.gram, gamma * self.cross, gamma * self.n_samples)

    def without(self, labels: Collection[Label]) -> FullTrace:
        """Drop columns of ``A'Y``."""
        kept = [label for label in self.labels if label not in labels]
        return FullTrace(kept, self.gram, self.columns(kept), self.n_samples)

    @staticmethod
    def shapes(dimension: int, n_labels: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of `arrays`."""
        return {"gram": (dimension, dimension), "cross": (dimension, n_labels)}

    def arrays(self) -> dict[str, Array]:
        """Return both sums."""
        return {"gram": self.gram, "cross": self.cross}

    def columns(self, labels: Sequence[Label]) -> Array:
        """``A'Y`` with one column per label; zero for a class that was not seen."""
        return columns(self.cross, self.labels, labels, fill=zero_column(self.cross))
