"""None of these: which photos are of no class that is known.

Two things speak for a class: how much of a photo its own photos explain, and how high its score is
beside those of other classes. Each is counted in standard deviations from what is usual for photos
of known classes. With few classes scores say little about anything else, so they count less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.photos.expectation import PERCENT, Expectation
from clsnet.photos.familiarity import Familiarity, left_out_familiarity
from clsnet.photos.unscaled import AS_LEARNED, Unscaled

FULL_WEIGHT = 21  # classes from which on scores count as much as looks
MOST_LOOKS = 32  # in memory; that of a class with many photos takes as much as its sums
ALIKE = 0.55  # usual correlation of both


@dataclass(frozen=True)
class Usual:
    """What is usual for photos of known classes: mean, deviation and percentiles."""

    mean: float
    deviation: float
    percentiles: np.ndarray

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Usual | None:
        """Return what is usual, given examples; None if these do not differ."""
        found = np.array(numbers, float)
        deviation = float(found.std()) if len(found) else 0.0
        if deviation == 0:
            return None
        return cls(float(found.mean()), deviation, np.quantile(found, PERCENT))

    def quantile(self, share: float) -> float:
        """Return what this share of photos does not reach, in deviations from the mean."""
        reached = float(np.interp(share, PERCENT, self.percentiles))
        return (reached - self.mean) / self.deviation


@dataclass(frozen=True)
class Rejection:
    """How well photos fit the classes that they are taken for.

    Attributes
    ----------
    looks
        What is usual of familiarity; None if nothing is known of it, and nothing is rejected.
    scores
        What is usual of the highest score; None if scores do not count.
    weight
        How much scores count beside looks.

    Examples
    --------
    >>> rejection = Rejection.of({"cat": [0.5, 0.6, 0.7]}, None, n_classes=1)
    >>> rejection.fits(np.array([0.6]), np.array([1.0])).round(3)
    array([0.])
    >>> round(rejection.threshold(0.05), 3)
    -1.102
    """

    looks: Usual | None
    scores: Usual | None
    weight: float

    @classmethod
    def of(
        cls,
        familiarity: Mapping[str, Sequence[float]],
        expectation: Expectation | None,
        n_classes: int,
    ) -> Rejection:
        """Return the rule that follows from what a model notes."""
        looks = Usual.of([one for numbers in familiarity.values() for one in numbers])
        scores = None if expectation is None else Usual.of(expectation.best)
        weight = min((n_classes - 1) / (FULL_WEIGHT - 1), 1.0) if scores else 0.0
        return cls(looks, scores, weight)

    @property
    def linear(self) -> tuple[float, float, float]:
        """The factors of familiarity and of the highest score, and what is added to both."""
        if self.looks is None:
            return 0.0, 0.0, 0.0
        by_look, by_score = 1 / self.looks.deviation, 0.0
        shift = -by_look * self.looks.mean
        if self.scores is not None:
            by_score = self.weight / self.scores.deviation
            shift -= by_score * self.scores.mean
        return by_look, by_score, shift

    def fits(self, familiarity: np.ndarray, best: np.ndarray) -> np.ndarray:
        """Return how well photos fit, given familiarity and highest scores."""
        by_look, by_score, shift = self.linear
        return np.asarray(by_look * familiarity + by_score * best + shift)

    def threshold(self, reject: float) -> float:
        """Return the fit that this share of photos of known classes does not reach."""
        if self.looks is None or reject <= 0:
            return -np.inf
        found, weight = self.looks.quantile(reject), self.weight
        if self.scores is not None:
            found += weight * self.scores.quantile(reject)
        return found * float(np.sqrt(1 + weight**2 + 2 * ALIKE * weight)) / (1 + weight)


def familiar(
    classifier: AnalyticClassifier,
    A: np.ndarray,
    taken: np.ndarray,
    unscaled: Unscaled = AS_LEARNED,
) -> np.ndarray:
    """Return how familiar each photo is to the class that it is taken for.

    Parameters
    ----------
    classifier
        It knows the classes.
    A
        Features, one row per photo.
    taken
        Numbers of the classes.
    unscaled
        Applied to features first.
    """
    return Looks(classifier, unscaled).familiar(A, taken)


class Looks:
    """The looks of the classes that a classifier knows, each worked out when it is first needed.

    Parameters
    ----------
    classifier
        It knows the classes.
    unscaled
        Applied to features first.
    """

    def __init__(self, classifier: AnalyticClassifier, unscaled: Unscaled = AS_LEARNED) -> None:
        def look(column: int) -> Familiarity:
            return Familiarity.of_class(classifier, str(classifier.labels[column]), unscaled)

        self.classifier, self.unscaled = classifier, unscaled
        self._look = lru_cache(MOST_LOOKS)(look)

    def familiar(self, A: np.ndarray, taken: np.ndarray) -> np.ndarray:
        """Return how familiar each photo is to the class that it is taken for; see `familiar`."""
        found = np.zeros(len(A))
        for column in np.unique(taken).tolist():
            own = taken == column
            found[own] = self._look(column).of(A[own])
        return found

    def left_out(self, A: np.ndarray, column: int) -> np.ndarray:
        """Return how familiar photos of a class are, each to all the others that were learned."""
        if self.classifier.rule.retain == "classes":
            return self._look(column).left_out(A)
        label = str(self.classifier.labels[column])
        return left_out_familiarity(self.classifier, label, A, self.unscaled)
