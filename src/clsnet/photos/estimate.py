"""An honest estimate without a test set: some photos are held out, then learned after all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.photos.familiarity import class_sums, familiarity

HELD_OUT = 0.2
ENOUGH = 5
DIGITS = 4  # of the familiarity that is kept


@dataclass(frozen=True)
class Estimate:
    """What became of the photos held out.

    Attributes
    ----------
    tested, right
        Photos of each class, and how many of them were recognised.
    confused
        Class, the other class that its photos were taken for, and how many were; most first.
    """

    tested: dict[str, int]
    right: dict[str, int]
    confused: list[tuple[str, str, int]]


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
    taken = np.array(trial.labels)[trial.scores(A[held]).argmax(axis=1)]
    true = labels[held]
    wrong = Counter(
        (was, said) for was, said in zip(true.tolist(), taken.tolist(), strict=True) if was != said
    )
    return Estimate(
        tested=dict(Counter(true.tolist())),
        right=dict(Counter(true[taken == true].tolist())),
        confused=[(was, said, n) for (was, said), n in wrong.most_common()],
    )


def held_out_familiarity(
    classifier: AnalyticClassifier, A: np.ndarray, labels: np.ndarray, held: np.ndarray
) -> dict[str, list[float]]:
    """Return how familiar photos held out are, sorted, for each of their classes.

    The mean of a class is that of what was learned of it before and of the other photos. No other
    class matters, so forgetting one leaves these numbers as they would have been without it.
    """
    old = dict(zip(classifier.labels, class_sums(classifier).T, strict=True))
    found = {}
    for label in np.unique(labels[held]).tolist():
        own = labels == label
        rows = A[own & held]
        mean = old.get(label, 0.0) + A[own & ~held].sum(axis=0, dtype=float)
        fits = familiarity(rows, np.zeros(len(rows), int), mean[:, None])
        found[label] = sorted(round(fit, DIGITS) for fit in fits.tolist())
    return found


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
    if len(classifier.labels) < 2 or not np.isfinite(threshold):
        return found
    sums = class_sums(classifier)
    for label in np.unique(labels).tolist():
        if label in classifier.labels:
            continue
        rows = np.flatnonzero(labels == label)
        taken = classifier.scores(A[rows]).argmax(axis=1)
        sure = taken[familiarity(A[rows], taken, sums) >= threshold].tolist()
        if sure:
            old, times = Counter(sure).most_common(1)[0]
            if times > len(rows) / 2:
                found.append((label, str(classifier.labels[old]), times, len(rows)))
    return found
