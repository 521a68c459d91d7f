"""What is worth a second look in the photos of a folder, beside single photos."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from clsnet.photos.expectation import ENOUGH
from clsnet.photos.finding import Photo
from clsnet.photos.record import Counts, Record
from clsnet.photos.twins import twins
from clsnet.photos.wording import NAMED, many


def shared(photos: Sequence[Photo], known: dict[str, set[str]]) -> list[str]:
    """Return warnings about pairs of classes with the same files."""
    owners: dict[str, set[str]] = {}
    for photo in photos:
        owners.setdefault(photo.digest, set()).add(photo.label)
    for label, digests in known.items():
        for digest in digests & owners.keys():
            owners[digest].add(label)
    pairs = Counter((a, b) for labels in owners.values() for a in labels for b in labels if a < b)
    return told_shared(pairs)


def told_shared(pairs: Mapping[tuple[str, str], int]) -> list[str]:
    """Return a warning for each pair of classes that share photos; one for all if they are many.

    Examples
    --------
    >>> told_shared({("cat", "dog"): 2})
    ['the classes cat and dog share 2 photos: one of these names may be wrong']
    """
    if len(pairs) > NAMED:
        a, b = min(pairs)
        return [
            f"{len(pairs):,} pairs of classes share photos, such as {a} and {b}: names may be wrong"
        ]
    return [
        f"the classes {a} and {b} share {many(n, 'photo')}: one of these names may be wrong"
        for (a, b), n in sorted(pairs.items())
    ]


def copied(A: np.ndarray, photos: Sequence[Photo]) -> list[str]:
    """Return a warning for each pair of classes whose photos look the same in different files."""
    if not len(A):
        return []
    times = Counter(photo.digest for photo in photos)
    rows = [i for i, photo in enumerate(photos) if times[photo.digest] == 1]
    return [
        f"{one} and {other} look like copies: {same} of {n} photos of {one} are in {other} too"
        for one, other, same, n in twins(A[rows], np.array([photos[i].label for i in rows]))
    ]


def few(counts: Counts, record: Record) -> list[str]:
    """Name every class of which there are few photos, with those learned before."""
    totals = {label: n + len(record.digests.get(label, ())) for label, n in counts.items()}
    return [
        f"{label} has {n} photo{'s'[: n > 1]}: more would help"
        for label, n in totals.items()
        if n <= ENOUGH
    ]
