"""Photos whose class may be wrong, and classes that may be the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.errors import ClsnetError
from clsnet.photos.expectation import ENOUGH
from clsnet.photos.familiarity import unit_length
from clsnet.photos.finding import Photo
from clsnet.photos.rejection import Looks, familiar
from clsnet.photos.unscaled import AS_LEARNED, Unscaled

CLOSER = 0.15  # by how much more another class explains of a photo than its own class does
SAME = 0.9  # cosine of two photos that show the same, scaled or compressed anew
BLOCK = 1000
USUAL = 0.25  # share of a class's own photos that are less familiar to it


@dataclass(frozen=True)
class Doubt:
    """A photo whose class may be wrong.

    Attributes
    ----------
    path, label
        The photo and its class.
    other
        The class that it may belong to.
    why
        The reason in words.
    """

    path: Path
    label: str
    other: str
    why: str


class DoubtfulLabels(ClsnetError):
    """Raised by ``strict=True``: the class of some photos may be wrong.

    Attributes
    ----------
    doubts
        The photos.
    """

    def __init__(self, doubts: list[Doubt]) -> None:
        first = doubts[0]
        photos = "1 photo" if len(doubts) == 1 else f"{len(doubts)} photos"
        super().__init__(
            f"nothing was learned: the class of {photos} may be wrong, such as {first.path} in "
            f"{first.label}, which {first.why}; move or remove them, or omit --strict."
        )
        self.doubts = doubts


def doubtful(
    classifier: AnalyticClassifier, A: np.ndarray, photos: Sequence[Photo], left_out: np.ndarray
) -> list[Doubt]:
    """Return photos that are much closer to another class than to their own.

    Parameters
    ----------
    classifier
        The classifier that has learned them.
    A
        Their features.
    photos
        What they are.
    left_out
        Their scores, had each been left out.
    """
    names = [str(label) for label in classifier.labels]
    known = Counter(dict.fromkeys(names, 0))
    for task in classifier.tasks:
        known.update({str(label): n for label, n in task.counts.items()})
    own = np.array([names.index(photo.label) for photo in photos])
    rivals = left_out.copy()
    rivals[np.arange(len(own)), own] = -np.inf
    other = rivals.argmax(axis=1)
    looks = Looks(classifier)
    closer = looks.familiar(A, other)
    for column in np.unique(own).tolist():
        mine = own == column
        enough = known[names[column]] >= ENOUGH
        closer[mine] -= looks.left_out(A[mine], column) if enough else 1
    return [
        Doubt(photos[i].path, photos[i].label, names[other[i]], f"looks like {names[other[i]]}")
        for i in np.argsort(-closer, kind="stable").tolist()
        if closer[i] > CLOSER
    ]


def copies(A: np.ndarray, photos: Sequence[Photo]) -> list[Doubt]:
    """Return photos that look the same as a photo of another class, though the files differ."""
    unit = unit_length(A.astype(np.float32), axis=1).astype(np.float32)
    _, codes = np.unique([photo.label for photo in photos], return_inverse=True)
    found = []
    for start in range(0, len(unit), BLOCK):
        alike = unit[start : start + BLOCK] @ unit.T
        alike[codes[start : start + BLOCK, None] == codes] = 0
        nearest = alike.argmax(axis=1)
        for row in np.flatnonzero(alike.max(axis=1) > SAME).tolist():
            one, other = photos[start + row], photos[nearest[row]]
            if one.digest != other.digest:
                why = f"looks the same as {other.path} in {other.label}"
                found.append(Doubt(one.path, one.label, other.label, why))
    return found


def with_same_files(
    doubts: Sequence[Doubt], photos: Sequence[Photo], learned: Mapping[str, Sequence[str]]
) -> list[Doubt]:
    """Return doubts about files that are in two classes, followed by other doubts.

    Parameters
    ----------
    doubts
        The other doubts.
    photos
        To be learned.
    learned
        Of each class, the digests of files learned before.
    """
    before = {digest: label for label, digests in learned.items() for digest in digests}
    first: dict[str, Photo] = {}
    found: dict[str, Doubt] = {}
    for photo in photos:
        twin, old = first.setdefault(photo.digest, photo), before.get(photo.digest, photo.label)
        if twin.label != photo.label:
            why = f"is the same file as {twin.path} in {twin.label}"
            found[photo.digest] = Doubt(photo.path, photo.label, twin.label, why)
        elif old != photo.label:
            why = f"was learned as {old} already"
            found[photo.digest] = Doubt(photo.path, photo.label, old, why)
    named = {photo.path for photo in photos if photo.digest in found}
    return [*found.values(), *(doubt for doubt in doubts if doubt.path not in named)]


def lookalikes(
    classifier: AnalyticClassifier,
    A: np.ndarray,
    labels: np.ndarray,
    familiarity: Mapping[str, Sequence[float]],
    unscaled: Unscaled = AS_LEARNED,
) -> list[tuple[str, str, int, int]]:
    """Return the new classes whose photos look like a class that is already known.

    Parameters
    ----------
    classifier
        A classifier that has not learned the photos.
    A, labels
        Features of photos, and their classes.
    familiarity
        For each old class, the familiarity of its own photos.
    unscaled
        Applied to features first, as it was for `familiarity`.

    Returns
    -------
    list of (new, old, taken, photos)
        Where most photos of a new class are as familiar to an old one as its own usually are.
    """
    found: list[tuple[str, str, int, int]] = []
    if len(classifier.labels) < 2:
        return found
    names = [str(label) for label in classifier.labels]
    usual = np.array(
        [np.quantile(familiarity[c], USUAL) if familiarity.get(c) else np.inf for c in names]
    )
    for label in np.unique(labels).tolist():
        if label in names:
            continue
        rows = np.flatnonzero(labels == label)
        taken = classifier.scores(A[rows]).argmax(axis=1)
        sure = taken[familiar(classifier, A[rows], taken, unscaled) >= usual[taken]].tolist()
        if sure:
            old, times = Counter(sure).most_common(1)[0]
            if times > len(rows) / 2:
                found.append((label, names[old], times, len(rows)))
    return found
