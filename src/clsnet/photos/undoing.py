"""Undoing the last change of a model."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clsnet.errors import ClsnetError
from clsnet.header import read
from clsnet.photos.record import Change, Record, local
from clsnet.photos.versions import changing, swap, version_before
from clsnet.storage.files import at_home


@dataclass(frozen=True)
class Undone:
    """What was undone or, the second time, redone.

    Attributes
    ----------
    change
        The call of `learn`, if it was one.
    forgotten
        Number of classes that were forgotten.
    date
        When it was.
    again
        Whether it was redone.
    classes
        Classes known now.
    learned
        Number of photos that were added, by `learn` or `merge`.
    taken
        Number of photos that were forgotten one by one.
    moved
        Number of photos that were moved to another class.
    """

    change: Change | None
    forgotten: int
    date: str
    again: bool
    classes: list[str]
    learned: int = 0
    taken: int = 0
    moved: int = 0


def undo(model: str | os.PathLike[str], *, say: Callable[[str], None] | None = None) -> Undone:
    """Undo the last change of a model; the second time, redo it.

    Parameters
    ----------
    model
        The file of the model.
    say
        Called with one line of text when another process has to be waited for.

    Examples
    --------
    >>> from clsnet.photos import undo
    >>> undo("/tmp/there-is-none.clsnet")
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: there is no model /tmp/there-is-none.clsnet.
    """
    if not at_home(model).exists():
        raise ClsnetError(f"there is no model {model}.")
    with changing(Path(model), say) as path:
        before = version_before(path)
        if not before.exists():
            raise ClsnetError(
                f"there is nothing to undo: there is no previous version ({before.name}); delete "
                f"{model} to start again."
            )
        undone = _undone(*(read(file)[0] for file in (path, before)))
        swap(path)
        return undone


def undoable(model: str | os.PathLike[str]) -> Undone | None:
    """Return what `undo` would undo, or None.

    Parameters
    ----------
    model
        The file of the model.

    Examples
    --------
    >>> undoable("/tmp/there-is-none.clsnet") is None
    True
    """
    path = at_home(model).resolve()
    before = version_before(path)
    if not path.exists() or not before.exists():
        return None
    return _undone(*(read(file)[0] for file in (path, before)))


def _undone(now: dict[str, Any], then: dict[str, Any]) -> Undone:
    """Tell what was undone, given the headers of both versions; the later one is the result."""
    records = [Record.of(header.get("notes", {})) for header in (now, then)]
    again = records[1].changed > records[0].changed
    headers = (now, then)
    after, before = (1, 0) if again else (0, 1)
    new, old = records[after], records[before]
    came, went = _photos(new) - _photos(old), _photos(old) - _photos(new)
    moved = {digest for digest, _ in came} & {digest for digest, _ in went}
    emptied = {label for digest, label in went if digest in moved}
    gone = {*headers[before]["labels"]} - {*headers[after]["labels"]}
    change = new.history[-1] if len(new.history) == len(old.history) + 1 else None
    return Undone(
        change,
        len(gone - emptied),
        change.date if change else local(new.changed),
        again,
        then["labels"],
        learned=sum(digest not in moved for digest, _ in came),
        taken=sum(digest not in moved and label not in gone for digest, label in went),
        moved=len(moved),
    )


def _photos(record: Record) -> set[tuple[str, str]]:
    """Return digests, with the classes that they were learned as."""
    return {(digest, label) for label, kept in record.digests.items() for digest in kept}
