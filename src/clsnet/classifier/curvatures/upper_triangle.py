"""A Gram matrix of which only the upper triangle has been computed."""

from __future__ import annotations

import functools

from clsnet.arrays.devices import Array
from clsnet.arrays.gram import add_upper, mirror
from clsnet.classifier.curvatures.base import union
from clsnet.classifier.curvatures.full import FullTrace
from clsnet.classifier.sums import Label


class UpperTriangle(FullTrace):
    """The sums of a task as they come; the lower triangle is filled in when `gram` is read.

    Tasks that follow each other are added by their upper triangles alone.

    Examples
    --------
    >>> import numpy as np
    >>> upper, cross = np.array([[1.0, 2.0], [0.0, 4.0]]), np.ones((2, 1))
    >>> old = UpperTriangle(["cat"], upper.copy(), cross, 1)
    >>> UpperTriangle(["cat"], upper, cross, 1).absorbing(old).gram
    array([[2., 4.],
           [4., 8.]])
    """

    def __init__(self, labels: list[Label], upper: Array, cross: Array, n_samples: float) -> None:
        self.labels, self.upper, self.cross, self.n_samples = labels, upper, cross, n_samples

    @functools.cached_property
    def gram(self) -> Array:
        """``A'A``."""
        return mirror(self.upper)

    def absorbing(self, old: UpperTriangle) -> UpperTriangle:
        """Return the sum of an older trace and this one, in the memory of this one."""
        labels = union(old.labels, self.labels)
        cross = old.columns(labels) + self.columns(labels)
        add_upper(self.upper, old.upper)
        return UpperTriangle(labels, self.upper, cross, old.n_samples + self.n_samples)
