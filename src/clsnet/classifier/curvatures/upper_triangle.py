"""A Gram matrix of which only the upper triangle has been computed."""

from __future__ import annotations

import functools

from clsnet.arrays.devices import Array
from clsnet.arrays.linalg import mirror, upper_sum
from clsnet.classifier.curvatures.base import Trace, union
from clsnet.classifier.curvatures.full import FullTrace
from clsnet.classifier.sums import Label


class UpperTriangle(FullTrace):
    """The sums of a task as they come; the lower triangle is filled in when `gram` is read.

    Tasks that follow each other are added by their upper triangles alone.

    Examples
    --------
    >>> import numpy as np
    >>> upper, cross = np.array([[1.0, 2.0], [0.0, 4.0]]), np.ones((2, 1))
    >>> one = UpperTriangle(["cat"], upper, cross, 1)
    >>> one.merge(UpperTriangle(["cat"], upper, cross, 1)).gram
    array([[2., 4.],
           [4., 8.]])
    """

    def __init__(self, labels: list[Label], upper: Array, cross: Array, n_samples: float) -> None:
        self.labels, self.upper, self.cross, self.n_samples = labels, upper, cross, n_samples

    @functools.cached_property
    def gram(self) -> Array:
        """``A'A``."""
        return mirror(self.upper)

    def merge(self, other: Trace, gamma: float = 1.0) -> FullTrace:
        """Sum both matrices."""
        if gamma != 1 or not isinstance(other, UpperTriangle):
            return super().merge(other, gamma)
        labels = union(self.labels, other.labels)
        cross = self.columns(labels) + other.columns(labels)
        upper = upper_sum(self.upper, other.upper)
        return UpperTriangle(labels, upper, cross, self.n_samples + other.n_samples)
