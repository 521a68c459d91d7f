"""Make a model forget classes."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from clsnet.errors import ClsnetError
from clsnet.estimator.clsnet import load
from clsnet.photos.keeping import changing, save, version_before
from clsnet.photos.record import Change, Counts, Record, now


@dataclass(frozen=True)
class Forgotten:
    """What was forgotten.

    Attributes
    ----------
    counts
        Photos of each class that no longer count.
    left
        The classes that are still known.
    size_before, size
        Bytes of the file.
    before
        Where the version before lies, which still knows the classes.
    """

    counts: Counts
    left: list[str]
    size_before: int
    size: int
    before: Path


def forget(
    model: str | os.PathLike[str],
    classes: Collection[str],
    *,
    say: Callable[[str], None] | None = None,
) -> Forgotten:
    """Forget classes exactly: the model becomes one that never saw them.

    Their sums, their names and their files' digests go. The version before is kept beside the
    model for `undo`; delete it to let nothing remain.

    Parameters
    ----------
    model
        The file of the model.
    classes
        Names of classes.
    say
        Told when another process has to be waited for.

    Examples
    --------
    >>> from clsnet.photos import forget
    >>> forget("/tmp/there-is-none.clsnet", ["dog"])
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: there is no model /tmp/there-is-none.clsnet.
    """
    classes = [classes] if isinstance(classes, str) else list(dict.fromkeys(classes))
    if not Path(model).expanduser().exists():
        raise ClsnetError(f"there is no model {model}.")
    with changing(Path(model), say) as path:
        taught = load(path)
        if taught.retain == "total":
            raise ClsnetError(
                f"{path} keeps only the total over all classes, so none can be taken out of it; "
                "learn the other classes into a new model that keeps them apart (--keep classes)."
            )
        counts = {
            str(label): sum(task.counts.get(label, 0) for task in taught.tasks_)
            for label in classes
        }
        size = path.stat().st_size
        taught.forget(classes=classes)
        record = Record.of(getattr(taught, "notes_", {})).without(classes)
        change = Change(now(), forgotten=len(classes))
        taught.notes_ = record.after(change).notes
        save(taught, path)
        left = [str(label) for label in taught.classes_]
        return Forgotten(counts, left, size, path.stat().st_size, version_before(path))
