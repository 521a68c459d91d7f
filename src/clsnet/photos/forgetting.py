"""Make a model forget classes."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from clsnet.errors import ClsnetError
from clsnet.photos.predicting import of_photos
from clsnet.photos.record import Change, Counts, Record, now
from clsnet.photos.versions import changing, save, version_before


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
    allow: str | Collection[str] = (),
) -> Forgotten:
    """Forget classes: the weights become those of a model that never saw them.

    Their sums, their names and their files' digests go. The threshold for "none of these" and the
    temperature of probabilities are not measured again. The version before is kept beside the
    model for `undo`; delete it to let nothing remain.

    Parameters
    ----------
    model
        The file of the model.
    classes
        Names of classes.
    say
        Told when another process has to be waited for.
    allow
        Networks that the file may refer to, such as ``"hf:NAME"``; see `clsnet.load`.

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
        taught = of_photos(path, allow)
        known = taught.classifier
        if known.rule.retain == "total":
            raise ClsnetError(
                f"{path} keeps only the total over all classes, so none can be taken out of it; "
                "learn the other classes into a new model that keeps them apart (--keep classes)."
            )
        counts = {
            str(label): sum(task.counts.get(label, 0) for task in known.tasks) for label in classes
        }
        size = path.stat().st_size
        unknown = [label for label in classes if label not in known.labels]
        if unknown:
            raise ClsnetError(f"class {unknown[0]!r} is not known to this model.")
        record = Record.of(taught.notes or {}).without(classes)
        change = Change(now(), forgotten=len(classes))
        forgotten = taught.without([], classes, exact=True)
        save(replace(forgotten, notes=record.after(change).notes), path)
        left = [str(label) for label in forgotten.classes]
        return Forgotten(counts, left, size, path.stat().st_size, version_before(path))
