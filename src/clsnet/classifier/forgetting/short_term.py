"""Short-term memory: some tasks are forgotten once the next one is learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

from clsnet.classifier.forgetting.policy import ForgettingPolicy
from clsnet.errors import ClsnetError
from clsnet.storage.schema import Kind, listed, whole


@dataclass(frozen=True)
class ShortTerm(ForgettingPolicy):
    """Forget the tasks with these numbers as soon as the next task is learned.

    Parameters
    ----------
    tasks
        Their numbers, from 0.

    Examples
    --------
    >>> policy = ShortTerm(tasks=(0, 2))
    >>> [policy.weight(task, n_tasks=3) for task in range(3)]
    [0.0, 1.0, 1.0]
    """

    tasks: tuple[int, ...]

    name: ClassVar[str] = "short-term"
    accepts: ClassVar[Mapping[str, Kind]] = {"tasks": listed(whole(0, 10**6), most=10**6)}

    def __post_init__(self) -> None:
        for task in self.tasks:
            if not isinstance(task, Integral) or task < 0:
                raise ClsnetError(f"short-term task {task!r}: use numbers of tasks, from 0.")
        object.__setattr__(self, "tasks", tuple(int(task) for task in self.tasks))

    def weight(self, task: int, n_tasks: int) -> float:
        """Return 0 for an old task that is named, and 1 otherwise."""
        return 0.0 if task in self.tasks and task < n_tasks - 1 else 1.0
