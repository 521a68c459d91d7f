"""Put photos back where they were before they were sorted."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from clsnet.errors import ClsnetError
from clsnet.photos.finding import digest_of
from clsnet.photos.journal import NAME, Run, read_journal, write_journal
from clsnet.storage.files import COPY, at_home, move_to_free_place, sweep
from clsnet.storage.locks import locked


@dataclass(frozen=True)
class Unsorted:
    """What was put back.

    Attributes
    ----------
    date
        When the photos had been sorted.
    back
        Photos that were moved back.
    removed
        Copies that were removed.
    kept
        One line about each photo that stays where it is.
    """

    date: str
    back: int = 0
    removed: int = 0
    kept: list[str] = field(default_factory=list)


def unsort(into: str | os.PathLike[str], *, say: Callable[[str], None] | None = None) -> Unsorted:
    """Undo the last `sort` into a folder; again, the one before it.

    Photos that were moved go back, if their old place is free. Copies are removed, if they are
    unchanged and their originals are still there.

    Parameters
    ----------
    into
        The folder that photos were sorted into.
    say
        Called with one line of text when another process has to be waited for.

    Examples
    --------
    >>> from clsnet.photos import unsort
    >>> unsort("/tmp/there-is-none")
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: nothing was sorted into /tmp/there-is-none, or it was undone already.
    """
    folder = at_home(into).resolve()
    nothing = f"nothing was sorted into {into}, or it was undone already."
    if not (folder / NAME).exists():
        raise ClsnetError(nothing)
    with locked(folder / NAME, say):
        runs = read_journal(folder)
        if not runs:
            raise ClsnetError(nothing)
        return undone(folder, runs[:-1], runs[-1])


def undone(folder: Path, runs: list[Run], last: Run) -> Unsorted:
    """Undo the last run; the caller holds the journal's lock.

    Parameters
    ----------
    folder
        The folder that photos were sorted into.
    runs, last
        The runs before, and the one to undo.
    """
    found = Unsorted(last.date)
    stuck = []
    for name in {Path(new).parent.name for _, new, _ in last.photos}:
        sweep(folder / name / COPY)
    for photo in reversed(last.photos):
        old, new, digest = Path(photo[0]), folder / photo[1], photo[2]
        try:
            if not new.resolve().is_relative_to(folder) or not new.is_file() or new.is_symlink():
                continue  # it was put back already, or never came so far
            if last.moved:
                found, is_back = _put_back(found, old, new)
                stuck += [] if is_back else [photo]
            else:
                found = _remove(found, old, new, digest)
        except OSError as error:
            found.kept.append(f"cannot put back {new}: {error.strerror}")
            stuck.append(photo)
    left = [*runs, *([replace(last, photos=stuck[::-1])] if stuck else [])]
    for name in () if stuck else last.folders:
        with suppress(OSError):  # somebody has put something else there
            if not (folder / name).is_symlink():
                (folder / name).rmdir()
    write_journal(folder, left)
    return found


def _put_back(found: Unsorted, old: Path, new: Path) -> tuple[Unsorted, bool]:
    """Move a photo back, unless its old place is taken; tell whether it is back."""
    if os.path.lexists(old):
        if old.is_symlink() or digest_of(old) != digest_of(new):
            found.kept.append(f"{new} stays: there is another file at {old}")
            return found, False
        new.unlink()  # it is there: moving was interrupted
    else:
        old.parent.mkdir(parents=True, exist_ok=True)
        move_to_free_place(new, old)
    return replace(found, back=found.back + 1), True


def _remove(found: Unsorted, old: Path, new: Path, digest: str) -> Unsorted:
    """Remove a copy, unless it is all that there is of something."""
    if digest_of(new) != digest:
        found.kept.append(f"{new} stays: it was changed")
    elif old.resolve() == new.resolve() or digest_of(old) != digest:
        found.kept.append(f"{new} stays: its original {old} is gone or changed")
    else:
        new.unlink()
        return replace(found, removed=found.removed + 1)
    return found
