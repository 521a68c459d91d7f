"""What is known of a task that was learned."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from clsnet.classifier.sums import Label


@dataclass(frozen=True)
class LearnedTask:
    """A learned task: the number of samples of each class that still counts.

    Attributes
    ----------
    counts
        Numbers of samples.
    weights
        Sums of their weights, where these are other than the numbers.

    Examples
    --------
    >>> task = LearnedTask({"cat": 3, "dog": 2}, weights={"dog": 5.0})
    >>> task.classes, task.n_samples
    (['cat', 'dog'], 5)
    >>> task.weight("cat"), task.weight("dog"), task.weight("cow")
    (3, 5.0, 0)
    >>> task.without(["cat"])
    LearnedTask(counts={'dog': 2})
    """

    counts: dict[Label, int]
    weights: dict[Label, float] = field(default_factory=dict, repr=False)

    @property
    def classes(self) -> list[Label]:
        """Classes of the task, sorted."""
        return list(self.counts)

    @property
    def n_samples(self) -> int:
        """Samples learned from."""
        return sum(self.counts.values())

    def weight(self, label: Label) -> float:
        """Return the sum of weights of a class."""
        return self.weights.get(label, self.counts.get(label, 0))

    def without(self, classes: Collection[Label]) -> LearnedTask:
        """Return the task as if it had never had `classes`."""
        return LearnedTask(
            {label: n for label, n in self.counts.items() if label not in classes},
            {label: weight for label, weight in self.weights.items() if label not in classes},
        )
