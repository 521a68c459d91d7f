"""A first-in-first-out queue of tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

from clsnet.classifier.forgetting.policy import ForgettingPolicy
from clsnet.errors import ClsnetError
from clsnet.storage.schema import Kind, whole


@dataclass(frozen=True)
class Queue(ForgettingPolicy):
    """Remember only the latest tasks: first in, first out (a sliding window).

    Parameters
    ----------
    length
        Number of tasks, including the current one.

    Examples
    --------
    >>> policy = Queue(length=2)
    >>> [policy.weight(task, n_tasks=4) for task in range(4)]
    [0.0, 0.0, 1.0, 1.0]
    """

    length: int

    name: ClassVar[str] = "queue"
    accepts: ClassVar[Mapping[str, Kind]] = {"length": whole(1, 10**6)}

    def __post_init__(self) -> None:
        if not isinstance(self.length, Integral) or self.length < 1:
            raise ClsnetError(f"queue length {self.length!r}: use a number of tasks, 1 or more.")

    def weight(self, task: int, n_tasks: int) -> float:
        """Return 1 for the latest tasks and 0 for older ones."""
        return 1.0 if task >= n_tasks - self.length else 0.0
