"""Estimating the accuracy on new photos, from sums alone.

Scores of new photos of a class are drawn from Student's t distribution with the leave-one-out mean
of the class's own photos and a multiple of their covariance. All classes known now take part,
whenever they were learned; forgotten classes do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clsnet.classifier.analytic import NO_SUMS, AnalyticClassifier
from clsnet.classifier.calibration import LEAST_NOISE, MOST
from clsnet.classifier.left_out import left_out_moments
from clsnet.errors import ClsnetError
from clsnet.photos.interval import wilson
from clsnet.storage.schema import Kind, listed, mapped, number, record, row, text

ENOUGH = 5  # photos of a class, to say something about it
WIDER = 1.22  # deviations of what is drawn over those of scores left out
FREEDOM = 5  # degrees of freedom: real scores have heavier tails than a Gaussian
DRAWS = 8000
MOST_CLASSES = 100  # that are drawn from; all compete
PAIRS = 20  # that are noted
PERCENT = (np.arange(100) + 0.5) / 100
DIGITS = 6
ROUNDS = 30  # of the search for a temperature
ROUNDING = 1e-7


@dataclass(frozen=True)
class Expectation:
    """What to expect of new photos of the classes known now.

    Attributes
    ----------
    right
        The share of each class's photos that will be recognised.
    confused
        Triples: a class, the class that its photos are taken for, and their share.
    best
        Percentiles 0.5, 1.5, ... 99.5 of the highest score of a photo.
    temperature
        The softmax temperature at which the probabilities of the answers are, on average, the share
        of right ones.
    """

    right: dict[str, float] = field(default_factory=dict)
    confused: list[tuple[str, str, float]] = field(default_factory=list)
    best: list[float] = field(default_factory=list)
    temperature: float = MOST

    @staticmethod
    def of(plain: dict[str, Any]) -> Expectation:
        """Read it from a file's notes, which are checked already."""
        confused = [(label, other, share) for label, other, share in plain["confused"]]
        return Expectation(plain["right"], confused, plain["best"], plain["temperature"])

    def accuracy(self, counts: dict[str, int]) -> tuple[float, float, float] | None:
        """Return the share of photos that will be recognised, and its 95 % interval.

        Parameters
        ----------
        counts
            Number of photos learned of each class, which weights the classes.
        """
        sizes = {label: counts.get(label, 0) for label in self.right}
        n = sum(sizes.values())
        if n == 0:
            return None
        share = sum(sizes[label] * right for label, right in self.right.items()) / n
        return share, *wilson(share * n, n)


ACCEPTED: Kind = record(
    {
        "right": mapped(number(0, 1)),
        "confused": listed(row(text(), text(), number(0, 1)), PAIRS),
        "best": listed(number(), len(PERCENT)),
        "temperature": number(1e-6, 1e6),
    }
)


def expected(classifier: AnalyticClassifier) -> Expectation | None:
    """Draw scores of new photos and count what they are taken for.

    Returns None if there is no estimate: for one class, for classes with fewer than five photos, or
    if the sums of classes are not kept apart.
    """
    labels, counts = [str(label) for label in classifier.labels], _counts(classifier)
    drawn = drawn_scores(classifier)
    if not drawn:
        return None
    pairs = [
        (label, labels[other], round(float(shares[other]), DIGITS))
        for label, shares in shares_taken(drawn).items()
        for other in np.flatnonzero(shares).tolist()
        if labels[other] != label
    ]
    hits = {
        label: round(float((part.argmax(axis=1) == labels.index(label)).mean()), DIGITS)
        for label, part in drawn.items()
    }
    sizes = [counts[label] for label in drawn]
    scores = np.concatenate(list(drawn.values()))
    weights = np.repeat(sizes, len(scores) // len(drawn))
    share = float(np.average(list(hits.values()), weights=sizes))
    return Expectation(
        hits,
        sorted(pairs, key=lambda pair: (-pair[2] * counts[pair[0]], *pair[:2]))[:PAIRS],
        np.round(np.quantile(scores.max(axis=1), PERCENT), DIGITS).tolist(),
        _temperature(scores, weights, share),
    )


def drawn_scores(classifier: AnalyticClassifier) -> dict[str, np.ndarray]:
    """Draw scores of new photos of each class; none for a class of which too little is known."""
    counts = _counts(classifier)
    enough = [label for label, n in counts.items() if n >= ENOUGH]
    if classifier.rule.retain != "classes" or len(counts) < 2 or not enough:
        return {}
    step = -(-len(enough) // MOST_CLASSES)
    enough = enough[::step]
    random, n = np.random.RandomState(0), max(DRAWS // len(enough), 64)
    offsets = WIDER * random.standard_normal((n, len(counts)))
    offsets *= np.sqrt((FREEDOM - 2) / random.chisquare(FREEDOM, (n, 1)))
    return {
        label: mean + offsets @ _root(covariance).T
        for label, (mean, covariance) in zip(
            enough, left_out_moments(classifier, enough), strict=True
        )
    }


def shares_taken(drawn: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the share of each class's photos that are taken for each class, given scores.

    Examples
    --------
    >>> shares_taken({"cat": np.array([[0.9, 0.1], [0.4, 0.6]])})["cat"]
    array([0.5, 0.5])
    """
    return {
        label: np.bincount(scores.argmax(axis=1), minlength=scores.shape[1]) / len(scores)
        for label, scores in drawn.items()
    }


def _counts(classifier: AnalyticClassifier) -> dict[str, int]:
    return {
        str(label): sum(task.counts.get(label, 0) for task in classifier.tasks)
        for label in classifier.labels
    }


def _root(covariance: np.ndarray) -> np.ndarray:
    """Return a matrix R with ``R R' = covariance``, except for rounding."""
    least = ROUNDING * (float(np.trace(covariance)) / len(covariance) + ROUNDING)
    try:
        return np.linalg.cholesky(covariance + least * np.eye(len(covariance)))
    except np.linalg.LinAlgError:
        raise ClsnetError(NO_SUMS) from None


def _temperature(scores: np.ndarray, weights: np.ndarray, share: float) -> float:
    """Return by bisection the temperature at which the highest probabilities average to a share."""
    columns = np.ascontiguousarray(scores.T)  # far fewer than rows: sums go along the rows
    columns -= columns.max(axis=0)
    low, high = np.log(LEAST_NOISE), np.log(MOST)
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        highest = 1 / np.exp(columns / np.exp(middle)).sum(axis=0)
        if np.average(highest, weights=weights) > share:
            low = middle
        else:
            high = middle
    return round(float(np.exp((low + high) / 2)), DIGITS)
