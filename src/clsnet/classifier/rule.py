"""How a task is learned and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from clsnet.classifier.class_weights import BALANCED, ClassWeight, refuse_bad
from clsnet.classifier.curvatures import CURVATURES
from clsnet.classifier.curvatures.plasticity import FISHERS
from clsnet.classifier.forgetting import ForgettingPolicy, LongTerm, resolve_policy
from clsnet.classifier.sums import PRECISIONS
from clsnet.errors import ClsnetError
from clsnet.storage.schema import NOTHING, Kind, listed, mapped, number, one_of, whole

TOTAL = "total"


@dataclass(frozen=True)
class Rule:
    """How a task is learned and what is kept of it.

    Parameters
    ----------
    curvature
        What is kept of a task: ``"full"``, ``"low-rank"`` or ``"diagonal"``.
    terms
        Terms of the objective: 1 current task, 2 old tasks, 3 previous solution.
    ridge
        Relative to the mean diagonal of the Gram matrix; or ``"auto"``, for few wrong answers; or
        ``"gcv"``, for the least squared error.
    retain
        Keep one sum in ``"total"``, per ``"tasks"`` or per ``"classes"``.
    fisher, phantoms
        Of the diagonal curvature; see `plasticity`.
    rank
        Directions kept by the low-rank curvature.
    precision
        Of products of samples.
    gamma
        Trade-off of an old task against the current one: one value, or one per task (the last value
        goes on for later tasks).
    forgetting
        How much old tasks still count.
    class_weight
        How much each class counts, or ``"balanced"``. Where sums are kept per class, this is
        applied to them when weights are solved for; elsewhere samples come weighted.

    Examples
    --------
    >>> rule = Rule(gamma=(10.0, 5.0))
    >>> rule.gamma_of(0), rule.gamma_of(7)
    (10.0, 5.0)
    """

    curvature: str = "full"
    terms: tuple[int, ...] = (1, 2)
    ridge: float | str = "auto"
    retain: str = TOTAL
    fisher: str = "mean-of-squares"
    phantoms: int = 8
    rank: int = 200
    precision: str = "float64"
    gamma: float | Sequence[float] = 1.0
    forgetting: ForgettingPolicy = field(default_factory=LongTerm)
    class_weight: ClassWeight = None

    accepts: ClassVar[Mapping[str, Kind]] = {
        "curvature": one_of(*CURVATURES),
        "terms": listed(one_of(1, 2, 3), most=3, least=1),
        "ridge": one_of("auto", "gcv") | number(0),
        "retain": one_of(TOTAL, "tasks", "classes"),
        "fisher": one_of(*FISHERS),
        "phantoms": whole(1, 10**6),
        "rank": whole(1, 10**6),
        "precision": one_of(*PRECISIONS),
        "gamma": number(0) | listed(number(0), most=10**6, least=1),
        "class_weight": NOTHING | one_of(BALANCED) | mapped(number(0, above=True)),
    }
    """What a model's file may hold of each."""

    def __post_init__(self) -> None:
        if not {1} <= set(self.terms) <= {1, 2, 3}:
            raise ClsnetError(f"terms={self.terms!r}: use 1, with or without 2 and 3.")
        if self.precision not in PRECISIONS:
            raise ClsnetError(f"precision={self.precision!r}: use one of {', '.join(PRECISIONS)}.")
        if np.size(self.gamma) == 0 or np.min(self.gamma) < 0:
            raise ClsnetError(f"gamma={self.gamma!r}: use one value of 0 or more, or several.")
        if self.forgetting.forgets and self.retain != "tasks":
            raise ClsnetError(
                "short_term, queue and other policies of forgetting weigh whole tasks: "
                'they need retain="tasks".'
            )
        if self.retain == "classes" and not self.additive:
            raise ClsnetError('retain="classes" needs curvature="full", gamma=1 and term 2.')
        refuse_bad(self.class_weight)
        if self.class_weight is not None and self.retain == "classes" and not self.plain:
            raise ClsnetError('class_weight with retain="classes" needs terms without 3.')

    @property
    def additive(self) -> bool:
        """Whether what is kept adds up to the sums over all data, each sample counted once."""
        equal = bool(np.all(np.asarray(self.gamma) == 1))
        return self.curvature == "full" and 2 in self.terms and equal

    @property
    def plain(self) -> bool:
        """Whether the objective is ridge regression on the sums over all that was seen."""
        return self.additive and 3 not in self.terms

    def gamma_of(self, task: int) -> float:
        """Return the trade-off of task number `task` once it is an old one."""
        values = np.atleast_1d(np.asarray(self.gamma))
        return float(values[min(task, len(values) - 1)])

    def weight(self, task: int, n_tasks: int) -> float:
        """Return how much a task counts once `n_tasks` have been learned; the current one fully."""
        if task == n_tasks - 1:
            return 1.0
        return self.gamma_of(task) * self.forgetting.weight(task, n_tasks)

    def forgotten(self, n_tasks: int) -> list[int]:
        """Return the tasks that no longer count once `n_tasks` have been learned.

        Examples
        --------
        >>> from clsnet.classifier.forgetting import Queue
        >>> Rule(retain="tasks", forgetting=Queue(3)).forgotten(n_tasks=5)
        [0, 1]
        """
        old = range(n_tasks - 1)
        return [task for task in old if self.forgetting.weight(task, n_tasks) == 0]


def rule_of(parameters: Mapping[str, Any]) -> Rule:
    """Return the rule that a model's parameters ask for.

    Examples
    --------
    >>> rule_of({"retain": "tasks", "queue": 3, "preset": "fast"}).retain
    'tasks'
    """
    own = {field.name for field in fields(Rule)} & parameters.keys() - {"forgetting"}
    chosen = {name: parameters[name] for name in own}
    for name in ("terms", "gamma"):
        if np.ndim(chosen.get(name, 0)):
            chosen[name] = tuple(chosen[name])
    forgetting = resolve_policy(
        parameters.get("forgetting"),
        short_term=tuple(parameters.get("short_term", ())),
        queue=parameters.get("queue"),
    )
    return Rule(**chosen, forgetting=forgetting)
