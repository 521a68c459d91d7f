"""Changes of a model, described as parts of a sentence."""

from __future__ import annotations

from clsnet.photos.record import Change
from clsnet.photos.undoing import Undone
from clsnet.photos.wording import many


def told_change(change: Change) -> str:
    """Return what was learned.

    Examples
    --------
    >>> told_change(Change("2024-01-01", "january", {"cat": 2, "dog": 1}))
    'learned 3 photos of 2 classes from january'
    """
    photos = many(sum(change.counts.values()), "photo")
    return f"learned {photos} of {many(len(change.counts), 'class')} from {change.folder}"


def told_undone(done: Undone) -> str:
    """Return what was undone.

    Examples
    --------
    >>> told_undone(Undone(None, 1, "2024-01-01", False, ["cat"], moved=2))
    'moved 2 photos to another class and forgot 1 class'
    """
    parts = [
        told_change(done.change) if done.change else "",
        f"added {many(done.learned, 'photo')}" if done.learned and not done.change else "",
        f"moved {many(done.moved, 'photo')} to another class" if done.moved else "",
        f"forgot {many(done.forgotten, 'class')}" if done.forgotten else "",
        f"forgot {many(done.taken, 'photo')}" if done.taken else "",
    ]
    return " and ".join(part for part in parts if part) or "the last change"
