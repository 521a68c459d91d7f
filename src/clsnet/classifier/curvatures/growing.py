"""A Gram matrix to which small tasks are added when somebody asks for it."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from clsnet.classifier.curvatures.full import FewSamples, FullTrace, Trace
from clsnet.classifier.ridge.factor import MOST_ROWS
from clsnet.classifier.sums import Label, with_products


class Growing(FullTrace):
    """The sums over all tasks, where the Gram matrix is `base` and the products of a few `rows`.

    A large matrix takes longer to copy than a small task takes to learn. Whoever can do with both
    parts takes these; whoever asks for `gram` gets the sum.

    Examples
    --------
    >>> gram = torch.eye(32, dtype=torch.float64)
    >>> old = FullTrace(["cat"], gram, gram[:, :1], 32)
    >>> new = FewSamples(["dog"], 2 * gram[:1], 2 * gram[:, :1], 1)
    >>> both = Growing.joined(old, new)
    >>> both.base is gram, both.gram[0, 0].item()
    (True, 5.0)
    """

    def __init__(
        self, labels: list[Label], base: Tensor, rows: Tensor, cross: Tensor, n_samples: float
    ) -> None:
        self.labels, self.base, self.rows = labels, base, rows
        self.cross, self.n_samples = cross, n_samples

    @classmethod
    def joined(cls, old: Trace, task: Trace) -> Growing | None:
        """Return the sum of both, or None where the task is too large to be kept apart."""
        if not isinstance(old, FullTrace) or not isinstance(task, FewSamples):
            return None
        if isinstance(old, cls):
            base, rows = old.base, torch.cat([old.rows, task.rows])
        else:
            base, rows = old.gram, task.rows
        if len(rows) > len(base) // MOST_ROWS:
            return None
        labels = list(dict.fromkeys([*old.labels, *task.labels]))
        cross = old.columns(labels) + task.columns(labels)
        return cls(labels, base, rows, cross, old.n_samples + task.n_samples)

    @functools.cached_property
    def gram(self) -> Tensor:  # type: ignore[override]
        """``A'A``."""
        return with_products(self.base, self.rows)
