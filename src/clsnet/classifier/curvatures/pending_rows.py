"""A Gram matrix with a few rows whose products have not been added yet."""

from __future__ import annotations

import functools

from clsnet.arrays.devices import Array, namespace
from clsnet.arrays.gram import plus_gram
from clsnet.classifier.curvatures.base import Trace, union
from clsnet.classifier.curvatures.few_samples import FewSamples
from clsnet.classifier.curvatures.full import FullTrace
from clsnet.classifier.ridge.factor import MOST_ROWS
from clsnet.classifier.sums import Label


class PendingRows(FullTrace):
    """The sums over all tasks, where the Gram matrix is `base` and the products of a few `rows`.

    Copying a large matrix takes longer than learning a small task. So the two parts are kept
    apart, and the sum is made only if `gram` is read.

    Examples
    --------
    >>> import numpy as np
    >>> gram = np.eye(32)
    >>> old = FullTrace(["cat"], gram, gram[:, :1], 32)
    >>> new = FewSamples(["dog"], 2 * gram[:1], 2 * gram[:, :1], 1)
    >>> both = PendingRows.joined(old, new)
    >>> both.base is gram, float(both.gram[0, 0])
    (True, 5.0)
    """

    def __init__(
        self, labels: list[Label], base: Array, rows: Array, cross: Array, n_samples: float
    ) -> None:
        self.labels, self.base, self.rows = labels, base, rows
        self.cross, self.n_samples = cross, n_samples

    @classmethod
    def joined(cls, old: Trace, task: Trace) -> PendingRows | None:
        """Return the sum of both, or None where the task is too large to be kept apart."""
        if not isinstance(old, FullTrace) or not isinstance(task, FewSamples):
            return None
        if isinstance(old, cls):
            base, rows = old.base, namespace(task.rows).concat([old.rows, task.rows])
        else:
            base, rows = old.gram, task.rows
        if len(rows) > len(base) // MOST_ROWS:
            return None
        labels = union(old.labels, task.labels)
        cross = old.columns(labels) + task.columns(labels)
        return cls(labels, base, rows, cross, old.n_samples + task.n_samples)

    @functools.cached_property
    def gram(self) -> Array:
        """``A'A``."""
        return plus_gram(self.base, self.rows)
