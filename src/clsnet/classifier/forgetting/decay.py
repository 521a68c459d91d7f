"""Decay by age: a task counts less with every task that follows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

from clsnet.classifier.forgetting.policy import ForgettingPolicy
from clsnet.errors import ClsnetError
from clsnet.storage.schema import Kind, number


@dataclass(frozen=True)
class Decay(ForgettingPolicy):
    """The weight of a task halves every `half_life` tasks.

    With the full curvature the model equals ridge regression in which every sample has the weight
    of its task. Age counts task numbers: a task that was forgotten on request still makes those
    before it older.

    Parameters
    ----------
    half_life
        Number of further tasks after which a task counts half.

    Examples
    --------
    >>> policy = Decay(half_life=1)
    >>> [policy.weight(task, n_tasks=4) for task in range(4)]
    [0.125, 0.25, 0.5, 1.0]
    """

    half_life: float = 5.0

    name: ClassVar[str] = "decay"
    accepts: ClassVar[Mapping[str, Kind]] = {"half_life": number(0, above=True)}

    def __post_init__(self) -> None:
        if not isinstance(self.half_life, Real) or not 0 < self.half_life < math.inf:
            raise ClsnetError(f"half_life={self.half_life!r}: use a number of tasks above 0.")

    def weight(self, task: int, n_tasks: int) -> float:
        """Return ``2 ** (-age / half_life)``."""
        return float(0.5 ** ((n_tasks - 1 - task) / self.half_life))
