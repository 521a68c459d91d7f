"""What is known of a task that was learned."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from clsnet.classifier.sums import Label


@dataclass(frozen=True)
class LearnedTask:
    """A learned task: the number of samples of each class that still counts.

    Examples
    --------
    >>> task = LearnedTask({"cat": 3, "dog": 2})
    >>> task.classes, task.n_samples
    (['cat', 'dog'], 5)
    >>> task.without(["cat"])
    LearnedTask(counts={'dog': 2})
    """

    counts: dict[Label, int]

    @property
    def classes(self) -> list[Label]:
        """Classes of the task, sorted."""
        return list(self.counts)

    @property
    def n_samples(self) -> int:
        """Samples learned from."""
        return sum(self.counts.values())

    def without(self, classes: Collection[Label]) -> LearnedTask:
        """Return the task as if it had never had `classes`."""
        return LearnedTask({label: n for label, n in self.counts.items() if label not in classes})
