"""What an estimate of the accuracy covers, and why there may be none."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from clsnet.photos.expectation import ENOUGH
from clsnet.photos.wording import many


def covered(right: Collection[str], classes: Collection[str]) -> str:
    """Return how many of the known classes an estimate covers.

    Examples
    --------
    >>> covered(["cat"], ["cat", "dog"]), covered(["cat", "dog"], ["cat", "dog"])
    ('1 of 2 classes', '2 classes')
    """
    known = many(len(classes), "class")
    return known if len(right) == len(classes) else f"{len(right):,} of {known}"


def too_small(counts: Mapping[str, int]) -> list[str]:
    """Return the classes that have too few photos for an estimate.

    Examples
    --------
    >>> too_small({"cat": 9, "dog": 4})
    ['dog']
    """
    return [label for label, n in counts.items() if n < ENOUGH]


def why_none(counts: Mapping[str, int], keep: str) -> str:
    """Return a sentence that says why there is no estimate.

    Parameters
    ----------
    counts
        Photos of each class.
    keep
        What the model keeps sums of.

    Examples
    --------
    >>> why_none({"cat": 9}, "classes")
    'No estimate of the accuracy: it takes two classes.'
    """
    if keep == "total":
        why = "the model keeps one total over all classes, not sums for each (--keep total)"
    elif len(counts) < 2:
        why = "it takes two classes"
    elif len(too_small(counts)) == len(counts):
        why = f"no class has {ENOUGH} photos"
    else:
        why = "it is made when the model learns further photos"
    return f"No estimate of the accuracy: {why}."
