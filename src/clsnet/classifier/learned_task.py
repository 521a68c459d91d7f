"""What is known of a task that was learned."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from clsnet.classifier.sums import Label

Value = TypeVar("Value")


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

    @classmethod
    def of(cls, counts: Mapping[Any, int], weights: Mapping[Any, float]) -> LearnedTask:
        """Return the task of these samples, given the sum of weights of each class.

        Examples
        --------
        >>> task = LearnedTask.of({"dog": 2, "cat": 1}, {"dog": 5.0, "cat": 1.0})
        >>> task.counts, task.weights
        ({'cat': 1, 'dog': 2}, {'dog': 5.0})
        """
        return cls(
            {label: counts[label] for label in sorted(counts)},
            {label: weight for label, weight in weights.items() if weight != counts[label]},
        )

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

    def merge(self, other: LearnedTask) -> LearnedTask:
        """Return the samples of both as one task.

        Examples
        --------
        >>> LearnedTask({"dog": 2}).merge(LearnedTask({"cat": 1, "dog": 3}))
        LearnedTask(counts={'cat': 1, 'dog': 5})
        """
        labels: list[Any] = sorted({*self.counts, *other.counts})
        counts = {label: self.counts.get(label, 0) + other.counts.get(label, 0) for label in labels}
        weights = {label: self.weight(label) + other.weight(label) for label in labels}
        return LearnedTask.of(counts, weights)

    def renamed(self, names: Mapping[Label, Label]) -> LearnedTask:
        """Return the task with new labels for old ones."""
        return LearnedTask(
            renamed_keys(self.counts, names, ordered=True), renamed_keys(self.weights, names)
        )


def renamed_keys(
    kept: Mapping[Any, Value], names: Mapping[Any, Any], *, ordered: bool = False
) -> dict[Any, Value]:
    """Return what is kept of classes under their new names, sorted if it was `ordered` by them.

    Examples
    --------
    >>> renamed_keys({"cat": 3, "dog": 2}, {"cat": "tabby"}, ordered=True)
    {'dog': 2, 'tabby': 3}
    """
    found = {names.get(label, label): value for label, value in kept.items()}
    return {label: found[label] for label in sorted(found)} if ordered else found


def moved_counts(
    counts: Sequence[Mapping[Any, int]], old: Label, new: Label | None, n: int
) -> list[dict[Any, int]]:
    """Return the counts of tasks after samples got another class, or none, the newest first.

    Parameters
    ----------
    counts
        Samples of each class in each task.
    old, new
        The class that has the samples, and the one that gets them.
    n
        How many samples.

    Examples
    --------
    >>> moved_counts([{"cat": 3}, {"cat": 1, "dog": 2}], "cat", "ape", 2)
    [{'ape': 1, 'cat': 2}, {'ape': 1, 'dog': 2}]
    """
    found = [dict(one) for one in counts]
    for one in reversed(found):
        some = min(n, one.get(old, 0))
        if not some:
            continue
        n -= some
        changes = {old: -some} if new is None else {old: -some, new: some}
        totals = {label: one.get(label, 0) + change for label, change in changes.items()}
        both = {label: total for label, total in (one | totals).items() if total}
        one.clear()
        one.update((label, both[label]) for label in sorted(both))
    return found
