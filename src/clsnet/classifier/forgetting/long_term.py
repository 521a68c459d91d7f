"""Long-term memory: no task is ever forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clsnet.classifier.forgetting.policy import ForgettingPolicy


@dataclass(frozen=True)
class LongTerm(ForgettingPolicy):
    """Every task counts fully, forever.

    Examples
    --------
    >>> LongTerm().weight(task=0, n_tasks=1000)
    1.0
    """

    name: ClassVar[str] = "long-term"
    forgets: ClassVar[bool] = False

    def weight(self, task: int, n_tasks: int) -> float:
        """Return 1."""
        return 1.0
