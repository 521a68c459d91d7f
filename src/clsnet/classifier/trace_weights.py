"""How much each trace counts when weights are solved for, and how many samples that makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from clsnet.classifier.class_weights import class_weights
from clsnet.classifier.curvatures import Trace
from clsnet.classifier.learned_task import LearnedTask
from clsnet.classifier.rule import TOTAL, Rule
from clsnet.classifier.sums import Label


def n_learned(traces: Mapping[Label, Trace]) -> int:
    """Return the number of tasks learned, up to the latest that is still kept."""
    return 1 + max((key for key in traces if isinstance(key, int)), default=0)


def task_weight(rule: Rule, key: Label, n_tasks: int) -> float:
    """Return how much a trace counts as that of a task; a total was weighted as it grew."""
    if rule.retain == "tasks" and isinstance(key, int):
        return rule.weight(key, n_tasks)
    return 1.0


def trace_weights(
    rule: Rule, traces: Mapping[Label, Trace], tasks: Sequence[LearnedTask]
) -> dict[Label, float]:
    """Return how much each trace counts, as that of a task and as that of a class.

    The choice of a ridge depends on how many samples there are: as many as their weights sum
    up to, and no fewer than there are. Weights that sum up to less are scaled.
    """
    n_tasks, sizes = n_learned(traces), {key: trace.n_samples for key, trace in traces.items()}
    each = class_weights(rule.class_weight if rule.retain == "classes" else None, sizes)
    n_weighted = sum(each[key] * size for key, size in sizes.items())
    scale = max(sum(task.n_samples for task in tasks) / n_weighted, 1.0)
    return {key: scale * each[key] * task_weight(rule, key, n_tasks) for key in traces}


def class_sizes(
    rule: Rule,
    labels: Sequence[Label],
    tasks: Sequence[LearnedTask],
    weights: Mapping[Label, float],
) -> np.ndarray:
    """Return how many samples of each class count, given the weight of each trace.

    Examples
    --------
    >>> tasks = [LearnedTask({"cat": 3}), LearnedTask({"cat": 1, "dog": 2})]
    >>> class_sizes(Rule(retain="tasks"), ["cat", "dog"], tasks, {0: 0.5, 1: 1.0})
    array([2.5, 2. ])
    """
    sizes = dict.fromkeys(labels, 0.0)
    for number, task in enumerate(tasks):
        for label in task.classes:
            key = {"tasks": number, "classes": label}.get(rule.retain, TOTAL)
            sizes[label] += weights[key] * task.weight(label)
    return np.array(list(sizes.values()))
