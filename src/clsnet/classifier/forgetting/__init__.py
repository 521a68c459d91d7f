"""Graceful forgetting: which task still counts, and by how much."""

from clsnet.classifier.forgetting.combined import Combined
from clsnet.classifier.forgetting.decay import Decay
from clsnet.classifier.forgetting.long_term import LongTerm
from clsnet.classifier.forgetting.policy import ForgettingPolicy
from clsnet.classifier.forgetting.queue import Queue
from clsnet.classifier.forgetting.registry import policy_class, resolve_policy
from clsnet.classifier.forgetting.short_term import ShortTerm

__all__ = [
    "Combined",
    "Decay",
    "ForgettingPolicy",
    "LongTerm",
    "Queue",
    "ShortTerm",
    "policy_class",
    "resolve_policy",
]
