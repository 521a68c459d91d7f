"""Merging classifiers that learned separately."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.class_weights import BALANCED
from clsnet.classifier.curvatures.base import union
from clsnet.classifier.learned_task import renamed_keys
from clsnet.classifier.rule import Rule
from clsnet.classifier.summed_task import refuse_two_kinds
from clsnet.classifier.sums import Label
from clsnet.errors import ClsnetError

MATTER = (
    *("curvature", "terms", "gamma", "forgetting", "ridge", "retain", "precision", "class_weight"),
)
NOT_ADDITIVE = (
    "these models cannot be merged exactly: what they keep does not add up. That needs "
    'curvature="full", gamma=1, terms without 3 and no policy of forgetting.'
)
NOT_BALANCED = (
    'models of class_weight="balanced" can be merged only with retain="classes": else samples were '
    "weighted as they came."
)


def merged(one: AnalyticClassifier, other: AnalyticClassifier) -> AnalyticClassifier:
    """Return the classifier that learned the tasks of both; its weights wait.

    Examples
    --------
    >>> import numpy as np
    >>> blank = AnalyticClassifier(Rule(ridge=1e-9), dimension=2, device="cpu")
    >>> cat = blank.learn(lambda: [(np.array([[1.0, 0.0]]), np.array(["cat"]))])
    >>> dog = blank.learn(lambda: [(np.array([[0.0, 1.0]]), np.array(["dog"]))])
    >>> merged(cat, dog).consolidated().scores(np.eye(2)).round(3)
    array([[1., 0.],
           [0., 1.]])
    """
    _refuse_different(one.rule, other.rule)
    for each in (one, other):
        each.refuse_to_learn()
    refuse_two_kinds([*one.labels, *other.labels])
    traces = dict(one.traces)
    first = len(one.tasks)
    for key, trace in other.traces.items():
        if one.rule.retain == "tasks" and isinstance(key, int):
            key = first + key
        traces[key] = traces[key].merge(trace) if key in traces else trace
    return replace(
        one,
        labels=union(one.labels, other.labels),
        traces=traces,
        tasks=[*one.tasks, *other.tasks],
        stale=True,
        factor=None,
    )


def renamed(classifier: AnalyticClassifier, names: Mapping[Label, Label]) -> AnalyticClassifier:
    """Return the classifier with new names for classes, none of which it has already."""
    keyed = {} if classifier.rule.retain != "classes" else names
    return replace(
        classifier,
        labels=[names.get(label, label) for label in classifier.labels],
        traces=renamed_keys({k: t.renamed(names) for k, t in classifier.traces.items()}, keyed),
        tasks=[task.renamed(names) for task in classifier.tasks],
    )


def _refuse_different(one: Rule, other: Rule) -> None:
    """Refuse rules of which sums do not add up, or add up to something else."""
    for name in MATTER:
        a, b = getattr(one, name), getattr(other, name)
        if repr(a) != repr(b):
            raise ClsnetError(f"models of different {name} cannot be merged: {a!r} and {b!r}.")
    if not one.plain or one.forgetting.forgets:
        raise ClsnetError(NOT_ADDITIVE)
    if one.class_weight == BALANCED and one.retain != "classes":
        raise ClsnetError(NOT_BALANCED)
