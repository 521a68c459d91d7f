"""The classes of a model as a picture: a map, and a confusion matrix."""

from __future__ import annotations

import numpy as np

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.photos.expectation import drawn_scores, shares_taken
from clsnet.photos.familiarity import class_sums, unit_length
from clsnet.photos.noting import solved


def class_map(classifier: AnalyticClassifier) -> np.ndarray:
    """Return a place for each class: its mean on the two principal axes of the means.

    Places are from -1 to 1.

    Examples
    --------
    >>> from clsnet.classifier.rule import Rule
    >>> blank = AnalyticClassifier(Rule(ridge=1e-9), 3, "cpu")
    >>> taught = blank.learn(lambda: [(np.eye(3), np.array(["a", "b", "c"]))])
    >>> class_map(taught).shape
    (3, 2)
    """
    means = unit_length(class_sums(classifier).T, axis=1)
    centred = means - means.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    places = np.zeros((len(means), 2))
    found = (left * sizes)[:, :2]
    found = found * np.where(found.sum(axis=0) < 0, -1, 1)
    places[:, : found.shape[1]] = found
    return places / max(float(np.abs(places).max(initial=0)), np.finfo(float).tiny)


def class_confusions(classifier: AnalyticClassifier) -> np.ndarray | None:
    """Return the expected confusion matrix: the share of each class's photos taken for each class.

    Classes with too few photos have a row of zeros; None if there is no estimate.
    """
    shares = shares_taken(drawn_scores(solved(classifier)))
    nothing = np.zeros(len(classifier.labels))
    rows = [shares.get(str(label), nothing) for label in classifier.labels]
    return np.stack(rows) if shares else None
