"""A task of which only sums are left, before anybody has learned it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from clsnet.classifier.curvatures.full import FullTrace
from clsnet.classifier.learned_task import LearnedTask
from clsnet.classifier.sums import Label
from clsnet.errors import ClsnetError


@dataclass(frozen=True)
class SummedTask:
    """What a task is to a classifier with the full curvature.

    Attributes
    ----------
    task
        Its classes and their numbers of samples.
    traces
        Its sums, one in total or one per class.
    """

    task: LearnedTask
    traces: dict[Label, FullTrace]

    def merge(self, other: SummedTask) -> SummedTask:
        """Return the sums of both as one task."""
        refuse_two_kinds([*self.task.classes, *other.task.classes])
        traces = dict(self.traces)
        for key, trace in other.traces.items():
            traces[key] = traces[key].merge(trace) if key in traces else trace
        return SummedTask(self.task.merge(other.task), traces)


def refuse_two_kinds(labels: Collection[Label]) -> None:
    """Refuse labels of which some are text and some are numbers, and name one that is both.

    Examples
    --------
    >>> refuse_two_kinds([1, 2, "2"])
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: the label '2' is text in one of these and a number in another.
    """
    text = {label for label in labels if isinstance(label, str)}
    numbers = {str(label) for label in labels if not isinstance(label, str)}
    if not text or not numbers:
        return
    if both := sorted(text & numbers):
        raise ClsnetError(f"the label {both[0]!r} is text in one of these and a number in another.")
    raise ClsnetError("the labels of some of these are text, and those of others are numbers.")
