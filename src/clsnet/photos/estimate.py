"""An honest estimate without a test set: some photos are held out, then learned after all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.calibration import softmax
from clsnet.photos.familiarity import familiarity, usual_scores
from clsnet.photos.record import TEMPERATURES

HELD_OUT = 0.2
ENOUGH = 5
LEAST_CHANCE = 1e-300  # so that its logarithm is finite


@dataclass(frozen=True)
class Estimate:
    """What became of the photos held out.

    Attributes
    ----------
    tested, right
        Photos of each class, and how many of them were recognised.
    confused
        Class, the other class that its photos were taken for, and how many were; most first.
    scores
        Of each class, the familiarity of each photo, sorted.
    losses
        Of each class, minus the log probability of its photos, summed, for each of `TEMPERATURES`.
    """

    tested: dict[str, int]
    right: dict[str, int]
    confused: list[tuple[str, str, int]]
    scores: dict[str, list[float]]
    losses: dict[str, list[float]]


def held_out(labels: np.ndarray, digests: Sequence[str]) -> np.ndarray:
    """Choose a fifth of each class of five or more, always the same, whatever the files' names.

    Examples
    --------
    >>> held_out(np.array(["cat"] * 5 + ["dog"]), list("edcbaf"))
    array([False, False, False, False,  True, False])
    """
    chosen = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        if len(rows) >= ENOUGH:
            rows = rows[np.argsort(np.array(digests)[rows])]
            chosen[rows[: max(1, round(HELD_OUT * len(rows)))]] = True
    return chosen


def estimated(
    classifier: AnalyticClassifier, A: np.ndarray, labels: np.ndarray, held: np.ndarray
) -> Estimate | None:
    """Learn the other photos, and see what those held out are taken for.

    Nothing can be said if none is held out, or if there is only one class.
    """
    if not held.any():
        return None
    trial = classifier.learn(lambda: [(A[~held], labels[~held])])
    if len(trial.labels) < 2:
        return None
    scores = trial.scores(A[held])
    fits = familiarity(scores, usual_scores(trial))
    taken = np.array(trial.labels)[scores.argmax(axis=1)]
    true = labels[held]
    known = np.unique(true).tolist()
    own = [trial.labels.index(label) for label in true.tolist()]
    chances = [softmax(scores / t)[np.arange(len(own)), own] for t in TEMPERATURES]
    losses = -np.log(np.maximum(np.stack(chances, axis=1), LEAST_CHANCE))
    wrong = Counter(
        (was, said) for was, said in zip(true.tolist(), taken.tolist(), strict=True) if was != said
    )
    return Estimate(
        tested=dict(Counter(true.tolist())),
        right=dict(Counter(true[taken == true].tolist())),
        confused=[(was, said, n) for (was, said), n in wrong.most_common()],
        scores={
            label: sorted(round(fit, 2) for fit in fits[true == label].tolist()) for label in known
        },
        losses={label: losses[true == label].sum(axis=0).tolist() for label in known},
    )


def lookalikes(
    classifier: AnalyticClassifier, A: np.ndarray, labels: np.ndarray, threshold: float
) -> list[tuple[str, str, int, int]]:
    """Tell which new classes an old classifier takes for one that it knows.

    Returns
    -------
    list of (new, old, taken, photos)
        Where most photos of a new class are as familiar as the threshold as the same old class.
    """
    found: list[tuple[str, str, int, int]] = []
    if len(classifier.labels) < 2:
        return found
    usual = usual_scores(classifier)
    for label in np.unique(labels).tolist():
        if label in classifier.labels:
            continue
        rows = np.flatnonzero(labels == label)
        scores = classifier.scores(A[rows])
        sure = scores.argmax(axis=1)[familiarity(scores, usual) >= threshold].tolist()
        if sure:
            old, times = Counter(sure).most_common(1)[0]
            if times > len(rows) / 2:
                found.append((label, str(classifier.labels[old]), times, len(rows)))
    return found
