"""Make a model forget classes."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from clsnet.errors import ClsnetError
from clsnet.extractor.cache import remove_rows
from clsnet.model import Model
from clsnet.photos.predicting import of_photos
from clsnet.photos.record import Counts, Record
from clsnet.photos.versions import changing, remove_others, save, version_before
from clsnet.storage.files import at_home


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
        Where the version before lies, which still knows the classes; None if it was removed.
    cached
        Photos whose cached features were removed.
    """

    counts: Counts
    left: list[str]
    size_before: int
    size: int
    before: Path | None
    cached: int = 0


def forget(
    model: str | os.PathLike[str],
    classes: Collection[str],
    *,
    purge: bool = False,
    cache: str | os.PathLike[str] | None = None,
    say: Callable[[str], None] | None = None,
    allow: str | Collection[str] = (),
) -> Forgotten:
    """Forget classes: but for dates, the file becomes that of a model that never saw them.

    Answers, probabilities and what is rejected are then those of such a model. The version before
    is kept beside the model for `undo`, unless it is purged.

    Parameters
    ----------
    model
        The file of the model.
    classes
        Names of classes; may be empty with `purge`.
    purge
        Also remove the version before, and files that a killed process left.
    cache
        A folder of cached features (``CLSNet(cache=...)``), from which to remove those of the
        photos.
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
    if not at_home(model).exists():
        raise ClsnetError(f"there is no model {model}.")
    if not classes and not purge:
        raise ClsnetError("name the classes to forget.")
    with changing(Path(model), say) as path:
        taught = of_photos(path, allow)
        size = path.stat().st_size
        counts = _counts(taught, classes)
        record = Record.of(taught.notes or {})
        gone = [digest for label in classes for digest in record.digests.get(label, ())]
        cached = remove_rows(at_home(cache), gone) if cache is not None else 0
        if classes:
            taught = _without(taught, record, classes)
            save(taught, path)
        if purge:
            remove_others(path)
        left = [str(label) for label in taught.classes]
        before = None if purge else version_before(path)
        return Forgotten(counts, left, size, path.stat().st_size, before, cached)


def _counts(taught: Model, classes: Sequence[str]) -> Counts:
    """Count the photos of classes, or say why they cannot be forgotten."""
    known = taught.classifier
    if classes and known.rule.retain == "total":
        raise ClsnetError(
            "the model keeps only the total over all classes, so none can be taken out of it; "
            "learn the other classes into a new model that keeps them apart (--keep classes)."
        )
    unknown = [label for label in classes if label not in known.labels]
    if unknown:
        raise ClsnetError(f"class {unknown[0]!r} is not known to this model.")
    return {str(label): sum(task.counts.get(label, 0) for task in known.tasks) for label in classes}


def _without(taught: Model, record: Record, classes: Sequence[str]) -> Model:
    """Return the model without classes, and without the tasks that brought nothing else."""
    left = taught.without([], classes, exact=True)
    tasks = [task for task in left.classifier.tasks if task.counts]
    classifier = replace(left.classifier, tasks=tasks)
    return replace(left, classifier=classifier, notes=record.without(classes).notes)
