"""Forgetting policies by name, including those of other packages."""

from __future__ import annotations

from collections.abc import Collection

from clsnet.classifier.forgetting.combined import Combined
from clsnet.classifier.forgetting.decay import Decay
from clsnet.classifier.forgetting.long_term import LongTerm
from clsnet.classifier.forgetting.policy import ForgettingPolicy
from clsnet.classifier.forgetting.queue import Queue
from clsnet.classifier.forgetting.short_term import ShortTerm
from clsnet.errors import ClsnetError

ENTRY_POINTS = "clsnet.forgetting"
BUILT_IN: dict[str, type[ForgettingPolicy]] = {
    policy.name: policy for policy in (LongTerm, ShortTerm, Queue, Decay, Combined)
}


def policy_class(name: str) -> type[ForgettingPolicy]:
    """Return the policy of that name: one of ours, or an entry point of another package.

    Examples
    --------
    >>> policy_class("queue")(length=3)
    Queue(length=3)
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    from importlib.metadata import entry_points

    others = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    if name not in others:
        known = ", ".join([*BUILT_IN, *others])
        raise ClsnetError(f"there is no forgetting policy {name!r}; known are {known}.")
    try:
        policy = others[name].load()
    except Exception as error:
        raise ClsnetError(f"forgetting policy {name!r} fails to import: {error}") from None
    if not (isinstance(policy, type) and issubclass(policy, ForgettingPolicy)):
        raise ClsnetError(f"{others[name].value}, named {name!r}, is not a ForgettingPolicy.")
    return policy


def resolve_policy(
    value: str | ForgettingPolicy | None,
    short_term: Collection[int] = (),
    queue: int | None = None,
) -> ForgettingPolicy:
    """Return the policy for the arguments of an estimator.

    Parameters
    ----------
    value
        A policy, the name of one without required parameters, or None to remember everything.
    short_term, queue
        Shorthands for `ShortTerm` and `Queue`. Several policies are combined.

    Examples
    --------
    >>> resolve_policy(None)
    LongTerm()
    >>> resolve_policy("decay", queue=3)
    Combined(policies=(Decay(half_life=5.0), Queue(length=3)))
    """
    chosen: list[ForgettingPolicy] = []
    if isinstance(value, ForgettingPolicy):
        chosen.append(value)
    elif isinstance(value, str):
        chosen.append(_plain(policy_class(value)))
    elif value is not None:
        raise ClsnetError(f"forgetting={value!r}: use a policy, or the name of one.")
    if len(short_term):
        chosen.append(ShortTerm(tuple(short_term)))
    if queue is not None:
        chosen.append(Queue(queue))
    chosen = [policy for policy in chosen if not isinstance(policy, LongTerm)] or [LongTerm()]
    return chosen[0] if len(chosen) == 1 else Combined(tuple(chosen))


def _plain(policy: type[ForgettingPolicy]) -> ForgettingPolicy:
    try:
        return policy()
    except TypeError:
        raise ClsnetError(
            f"forgetting={policy.name!r} needs parameters: pass a {policy.__name__}(...)."
        ) from None
