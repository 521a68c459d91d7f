"""How well photos fit the classes that they are taken for.

The measure of a class follows from its own sums alone, so it does not change when other classes are
learned or forgotten.
"""

from __future__ import annotations

import numpy as np

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.curvatures import FullTrace
from clsnet.errors import ClsnetError


def class_sums(classifier: AnalyticClassifier) -> np.ndarray:
    """Return the sum of the features of each class, one column per class.

    Examples
    --------
    >>> from clsnet.classifier.rule import Rule
    >>> blank = AnalyticClassifier(Rule(ridge=1e-9), 2, "cpu")
    >>> taught = blank.learn(lambda: [(np.eye(2), np.array(["cat", "dog"]))])
    >>> class_sums(taught)
    array([[1., 0.],
           [0., 1.]])
    """
    sums = np.zeros((classifier.dimension, len(classifier.labels)))
    for trace in classifier.traces.values():
        if not isinstance(trace, FullTrace):
            raise ClsnetError(
                'this model was not made by clsnet learn: it has no curvature="full".'
            )
        sums += trace.columns(classifier.labels)
    return sums


def unit_length(vectors: np.ndarray, axis: int) -> np.ndarray:
    """Return vectors scaled to length 1.

    Examples
    --------
    >>> unit_length(np.array([[3.0, 4.0]]), axis=1)
    array([[0.6, 0.8]])
    """
    lengths = np.linalg.norm(vectors, axis=axis, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(float).tiny))


def familiarity(A: np.ndarray, taken: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Return the cosine between the features of each photo and the mean of its class.

    Parameters
    ----------
    A
        Features, one row per photo.
    taken
        Numbers of the classes that the photos are taken for.
    sums
        Sums of the features of each class, one column per class.

    Examples
    --------
    >>> familiarity(np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([0, 1]), np.eye(2)).round(4)
    array([0.7071, 1.    ])
    """
    means = unit_length(sums, axis=0)[:, taken]
    return np.asarray(np.einsum("ij,ji->i", unit_length(A.astype(float), axis=1), means))
