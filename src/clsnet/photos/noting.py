"""The notes that a model of photos writes when it has changed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.model import Model
from clsnet.photos.expectation import ENOUGH, PAIRS, Expectation, expected
from clsnet.photos.familiarity import left_out_familiarity
from clsnet.photos.record import Record
from clsnet.photos.unscaled import AS_LEARNED, Unscaled

DIGITS = 4  # of the familiarity that is kept


def familiarity_of(
    learned: AnalyticClassifier,
    A: np.ndarray,
    labels: np.ndarray,
    unscaled: Unscaled = AS_LEARNED,
) -> dict[str, list[float]]:
    """Return the familiarity of each photo to the other learned photos of its class, sorted.

    Classes of fewer than five photos have none.
    """
    found = {}
    for label in np.unique(labels).tolist():
        if sum(task.counts.get(label, 0) for task in learned.tasks) >= ENOUGH:
            fits = left_out_familiarity(learned, label, A[labels == label], unscaled)
            found[label] = sorted(np.round(fits, DIGITS).tolist())
    return found


def with_expectation(model: Model) -> Model:
    """Return the model with notes, and probabilities, that say what to expect of it.

    Both follow from the sums of the classes known now.
    """
    classifier, record = solved(model.classifier), Record.of(model.notes or {})
    expectation = expected(classifier) if classifier.labels else None
    if expectation is not None:
        calibration = replace(classifier.calibration, temperature=expectation.temperature)
        classifier = replace(classifier, calibration=calibration)
    notes = replace(record, expectation=expectation).notes
    return replace(model, classifier=classifier, notes=notes)


def solved(classifier: AnalyticClassifier) -> AnalyticClassifier:
    """Return a classifier with what a file does not hold: how its weights were found."""
    if not classifier.labels or classifier.solution is not None:
        return classifier
    return replace(classifier, stale=True).consolidated()


def of_left_out(
    learned: AnalyticClassifier, scores: np.ndarray, labels: np.ndarray
) -> Expectation | None:
    """Return what to expect of photos like these, given their scores had each been left out."""
    names = np.array([str(label) for label in learned.labels])
    sizes = Counter(labels.tolist())
    enough = np.array([sizes[label] >= ENOUGH for label in labels.tolist()])
    if len(names) < 2 or not enough.any():
        return None
    taken, own = names[scores[enough].argmax(axis=1)], labels[enough]
    right = {c: float((taken[own == c] == c).mean()) for c in np.unique(own).tolist()}
    wrong = Counter(
        (was, said) for was, said in zip(own.tolist(), taken.tolist(), strict=True) if was != said
    )
    pairs = [(was, said, n / sizes[was]) for (was, said), n in wrong.most_common(PAIRS)]
    return Expectation(right, pairs)
