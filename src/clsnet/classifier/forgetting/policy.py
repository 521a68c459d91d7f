"""What every forgetting policy has in common."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from clsnet.storage.schema import Kind


class ForgettingPolicy(ABC):
    """Base class of forgetting policies: how much an old task still counts.

    A policy is a frozen dataclass. A package of its own can add one by an entry point of the group
    ``clsnet.forgetting`` that names the class.

    Attributes
    ----------
    name
        The name by which the policy is chosen and saved.
    forgets
        Whether a task can ever count less than fully. If so, models must keep one sum per task:
        ``retain="tasks"``.
    accepts
        The values that a model's file may hold for each parameter.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class HalfOfTheOld(ForgettingPolicy):
    ...     name = "half-of-the-old"
    ...
    ...     def weight(self, task, n_tasks):
    ...         return 1.0 if task == n_tasks - 1 else 0.5
    >>> HalfOfTheOld().weight(task=0, n_tasks=2)
    0.5
    """

    name: ClassVar[str]
    forgets: ClassVar[bool] = True
    accepts: ClassVar[Mapping[str, Kind]] = MappingProxyType({})

    @abstractmethod
    def weight(self, task: int, n_tasks: int) -> float:
        """Return how much a task counts once `n_tasks` have been learned; 0 drops it for good.

        Parameters
        ----------
        task
            Its number, from 0. The current task is ``n_tasks - 1`` and counts fully.
        n_tasks
            Number of tasks learned, including those that were forgotten since.
        """

    @property
    def config(self) -> dict[str, Any]:
        """The constructor's arguments by name."""
        assert dataclasses.is_dataclass(self)
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
