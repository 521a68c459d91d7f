"""Graceful forgetting: which task still counts, and by how much."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Memory:
    """Long- and short-term memory of tasks.

    Parameters
    ----------
    gamma
        Trade-off of an old task against the current one: one value, or one per task (the last
        value goes on for later tasks).
    short_term
        Tasks, by number, that fade as soon as the next task is learned.
    queue
        Length of a first-in-first-out queue: only so many of the latest tasks are remembered.

    Examples
    --------
    >>> memory = Memory(gamma=(10.0, 5.0), short_term={0}, queue=3)
    >>> memory.gamma_of(0), memory.gamma_of(7)
    (10.0, 5.0)
    >>> memory.faded(n_tasks=5)
    [0, 1]
    """

    gamma: float | Sequence[float] = 1.0
    short_term: Collection[int] = ()
    queue: int | None = None

    def gamma_of(self, task: int) -> float:
        """Trade-off of task number `task` once it is an old one."""
        values = np.atleast_1d(self.gamma)
        return float(values[min(task, len(values) - 1)])

    def faded(self, n_tasks: int) -> list[int]:
        """Tasks that no longer count when `n_tasks` have been learned."""
        oldest = 0 if self.queue is None else n_tasks - self.queue
        return [t for t in range(n_tasks - 1) if t < oldest or t in self.short_term]

    @property
    def fades(self) -> bool:
        """Whether any task is ever forgotten by itself."""
        return bool(self.short_term) or self.queue is not None
