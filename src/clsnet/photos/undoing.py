"""Take back the last change of a model."""

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
    """What was undone or, the second time, done again.

    Attributes
    ----------
    change
        The learning; None if it was a forgetting.
    forgotten
        Number of classes that were forgotten.
    date
        When it was.
    again
        Whether it was done again.
    classes
        Classes known now.
    """

    change: Change | None
    forgotten: int
    date: str
    again: bool
    classes: list[str]


def undo(model: str | os.PathLike[str], *, say: Callable[[str], None] | None = None) -> Undone:
    """Undo the last `learn` or `forget`; the second time, do it again.

    Parameters
    ----------
    model
        The file of the model.
    say
        Told when another process has to be waited for.

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
                f"there is nothing to undo: {model} was learned once, and {before.name} is not "
                "there; delete the model to start anew."
            )
        headers = [read(file)[0] for file in (path, before)]
        undone = _undone(*headers)
        swap(path)
        return undone


def _undone(now: dict[str, Any], then: dict[str, Any]) -> Undone:
    """Tell what was undone, given the headers of both versions; the later one is the result."""
    records = [Record.of(header.get("notes", {})) for header in (now, then)]
    again = records[1].changed > records[0].changed
    after, before = (1, 0) if again else (0, 1)
    learned = len(records[after].history) > len(records[before].history)
    change = records[after].history[-1] if learned else None
    labels = [header["labels"] for header in (now, then)]
    forgotten = 0 if change else max(0, len(labels[before]) - len(labels[after]))
    date = change.date if change else local(records[after].changed)
    return Undone(change, forgotten, date, again, then["labels"])
