"""How well photos fit the classes that they are taken for."""

from __future__ import annotations

import numpy as np

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.curvatures import FullTrace


def usual_scores(classifier: AnalyticClassifier) -> np.ndarray:
    """Return the mean score, as its own class, of what was learned of each class.

    It follows from the sums that are kept, and falls as more classes share the features.

    Examples
    --------
    >>> from clsnet.classifier.rule import Rule
    >>> blank = AnalyticClassifier(Rule(ridge=1e-9), 2, "cpu")
    >>> taught = blank.learn(lambda: [(np.eye(2), np.array(["cat", "dog"]))])
    >>> usual_scores(taught).round(4)
    array([1., 1.])
    """
    labels = classifier.labels
    sums = np.zeros_like(classifier.omega)
    for trace in classifier.traces.values():
        assert isinstance(trace, FullTrace)
        sums += trace.columns(labels)
    weights = [sum(task.weight(label) for task in classifier.tasks) for label in labels]
    return np.asarray((sums * classifier.omega).sum(axis=0) / np.array(weights))


def familiarity(scores: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """Return the best score of each photo, relative to what is usual for that class.

    Examples
    --------
    >>> familiarity(np.array([[0.5, 0.2], [0.1, 0.3]]), np.array([0.5, 0.6]))
    array([1. , 0.5])
    """
    return np.asarray(scores.max(axis=1) / usual[scores.argmax(axis=1)])
