"""Samples that were learned, taken out again or given another class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clsnet.arrays.devices import Array
from clsnet.arrays.linalg import take
from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.curvatures import FullTrace, Trace, trace_of
from clsnet.classifier.curvatures.full import NOT_THERE
from clsnet.classifier.learned_task import LearnedTask, moved_counts
from clsnet.classifier.rule import TOTAL
from clsnet.classifier.sums import Label, RunningSums
from clsnet.errors import ClsnetError

NOT_EXACT = (
    "samples cannot be taken out of this model exactly: that needs sums of equal weights in double "
    'precision (curvature="full", gamma=1, terms without 3, precision="float64"), in total or per '
    "class."
)


def moved(
    classifier: AnalyticClassifier, A: Array, old: Sequence[Label], new: Label | None = None
) -> AnalyticClassifier:
    """Return the classifier as if samples had been learned as another class, or never.

    A class that has no sample left is gone. Of several tasks with a class, the newest is taken to
    have had the samples.

    Parameters
    ----------
    classifier
        Keeps full sums, in total or per class.
    A
        Representations, the same as when they were learned.
    old
        The class that each of them was learned as.
    new
        The class that they should have had, known or not; None takes them out.

    Examples
    --------
    >>> from clsnet.classifier.rule import Rule
    >>> blank = AnalyticClassifier(Rule(ridge=1e-9), dimension=2, device="cpu")
    >>> wrong = blank.learn(lambda: [(np.eye(2), np.array(["cat", "cat"]))])
    >>> right = moved(wrong, np.array([[0.0, 1.0]]), ["cat"], "dog")
    >>> right.labels, right.scores(np.eye(2)).round(3).tolist()
    (['cat', 'dog'], [[1.0, 0.0], [0.0, 1.0]])
    """
    rule = classifier.rule
    weighted = any(task.weights for task in classifier.tasks)
    exact = rule.plain and rule.precision == "float64" and not weighted
    if not exact or rule.retain == "tasks":
        raise ClsnetError(NOT_EXACT)
    for label in dict.fromkeys(old):
        rows = [row for row, own in enumerate(old) if own == label]
        classifier = _moved(classifier, take(A, rows), label, new)
    return in_task_order(classifier).consolidated()


def _moved(
    classifier: AnalyticClassifier, A: Array, old: Label, new: Label | None
) -> AnalyticClassifier:
    """Move samples of one class, and leave the weights for later."""
    counts = [task.counts for task in classifier.tasks]
    if sum(one.get(old, 0) for one in counts) < len(A):
        raise ClsnetError(NOT_THERE)
    tasks = [LearnedTask(one) for one in moved_counts(counts, old, new, len(A))]
    traces = dict(classifier.traces)
    key = old if classifier.rule.retain == "classes" else TOTAL
    if traces[key].n_samples == len(A):
        del traces[key]
    else:
        traces[key] = _full(traces[key]).less(_trace(classifier, A, old))
    if not any(old in task.counts for task in tasks):
        traces = {key: trace.without([old]) for key, trace in traces.items()}
    if new is not None:
        key = new if classifier.rule.retain == "classes" else TOTAL
        part = _trace(classifier, A, new)
        traces[key] = traces[key].merge(part) if key in traces else part
    return replace(classifier, traces=traces, tasks=tasks, stale=True, factor=None)


def in_task_order(classifier: AnalyticClassifier) -> AnalyticClassifier:
    """Order classes as if the tasks had brought them as they are now; weights wait."""
    labels = list(dict.fromkeys(label for task in classifier.tasks for label in task.classes))
    traces = classifier.traces
    if classifier.rule.retain == "classes":
        traces = {label: traces[label] for label in labels}
    return replace(classifier, labels=labels, traces=traces, stale=True)


def _trace(classifier: AnalyticClassifier, A: Array, label: Label) -> FullTrace:
    empty = RunningSums(classifier.dimension, classifier.device)
    return trace_of(empty.add(A, np.array([label] * len(A))))


def _full(trace: Trace) -> FullTrace:
    assert isinstance(trace, FullTrace)
    return trace
