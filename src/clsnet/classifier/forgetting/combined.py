"""Several forgetting policies at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from clsnet.classifier.forgetting.policy import ForgettingPolicy
from clsnet.errors import ClsnetError
from clsnet.storage.schema import ANYTHING, Kind, listed


@dataclass(frozen=True)
class Combined(ForgettingPolicy):
    """Weights of several policies, multiplied: what one forgets is forgotten.

    Parameters
    ----------
    policies
        Which ones.

    Examples
    --------
    >>> from clsnet.classifier.forgetting import Decay, Queue
    >>> policy = Combined((Queue(length=3), Decay(half_life=1)))
    >>> [policy.weight(task, n_tasks=4) for task in range(4)]
    [0.0, 0.25, 0.5, 1.0]
    """

    policies: tuple[ForgettingPolicy, ...]

    name: ClassVar[str] = "combined"
    accepts: ClassVar[Mapping[str, Kind]] = {"policies": listed(ANYTHING, most=100, least=1)}

    def __post_init__(self) -> None:
        for policy in self.policies:
            if not isinstance(policy, ForgettingPolicy):
                raise ClsnetError(f"{policy!r} is no forgetting policy.")
        object.__setattr__(self, "policies", tuple(self.policies))

    @property
    def forgets(self) -> bool:  # type: ignore[override]
        """Whether any of them does."""
        return any(policy.forgets for policy in self.policies)

    def weight(self, task: int, n_tasks: int) -> float:
        """Return the product of all weights."""
        return math.prod(policy.weight(task, n_tasks) for policy in self.policies)
