"""Make a model forget classes, or single photos."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clsnet.arrays.blas import one_blas_thread
from clsnet.errors import ClsnetError
from clsnet.extractor.cache import remove_rows
from clsnet.images import Report
from clsnet.model import Model
from clsnet.photos.class_names import known_class
from clsnet.photos.moving import by_digest, features_of, with_moved, without_classes
from clsnet.photos.noting import with_expectation
from clsnet.photos.predicting import of_photos
from clsnet.photos.record import Counts, Record
from clsnet.photos.versions import changing, remove_others, save, version_before
from clsnet.photos.wording import many
from clsnet.storage.files import at_home


@dataclass(frozen=True)
class Forgotten:
    """What was forgotten.

    Attributes
    ----------
    counts
        Number of forgotten photos of each class.
    left
        Classes that are still known.
    size_before, size
        Bytes of the file.
    before
        File of the previous version, which still knows the classes; None if it was removed.
    cached
        Number of photos whose cached features were removed.
    photos
        Number of photos that were forgotten one by one.
    removed
        Files beside the model that `purge` removed.
    """

    counts: Counts
    left: list[str]
    size_before: int
    size: int
    before: Path | None
    cached: int = 0
    photos: Counts = field(default_factory=dict)
    removed: list[Path] = field(default_factory=list)


def forget(
    model: str | os.PathLike[str],
    classes: Collection[str] = (),
    *,
    photos: Iterable[str | os.PathLike[str]] = (),
    purge: bool = False,
    cache: str | os.PathLike[str] | None = None,
    report: Report | None = None,
    say: Callable[[str], None] | None = None,
    allow: str | Collection[str] = (),
) -> Forgotten:
    """Forget classes; except for dates, the file becomes that of a model that never saw them.

    Its answers, probabilities and rejections become those of such a model. The previous version is
    kept beside the model for `undo`, unless `purge` is true.

    Single photos are subtracted from the sums, so the weights become those of a model that never
    saw them, except for rounding. This needs the files that were learned. Rejections may differ a
    little, because the familiarity of the other photos of the class is not measured again.

    Parameters
    ----------
    model
        The file of the model.
    classes
        Names of classes; may be empty with `purge` or `photos`.
    photos
        Photos and folders of photos to forget one by one. A class without photos is removed.
    purge
        Also remove the previous version, and files that a killed process left.
    cache
        A folder of cached features (``CLSNet(cache=...)``), from which to remove those of the
        photos.
    report
        Called as `report(stage, done, total)`, in photos.
    say
        Called with one line of text when another process has to be waited for.
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
    if not (given := list(photos)) and not classes and not purge:
        raise ClsnetError("name the classes to forget.")
    files = by_digest(given) if given else {}
    with changing(Path(model), say) as path, one_blas_thread():
        taught = of_photos(path, allow)
        size = path.stat().st_size
        classes = [known_class(label, taught.classes) for label in classes]
        counts = _counts(taught, classes)
        record = Record.of(taught.notes or {})
        moves = _learned(record, files)
        gone = [digest for label in classes for digest in record.digests.get(label, ())]
        moves = [(digest, label) for digest, label in moves if label not in classes]
        if classes:
            taught = without_classes(taught, classes)
        if moves:
            rows = features_of(taught, {digest: files[digest] for digest, _ in moves}, report)
            taught = with_moved(taught, rows, moves)
        cached = remove_rows(at_home(cache), [*gone, *files]) if cache is not None else 0
        if classes or moves:
            save(with_expectation(taught), path)
        removed = remove_others(path) if purge else []
        left = [str(label) for label in taught.classes]
        before = None if purge else version_before(path)
        taken = dict(sorted(Counter(label for _, label in moves).items()))
        return Forgotten(counts, left, size, path.stat().st_size, before, cached, taken, removed)


def _learned(record: Record, files: Mapping[str, Path]) -> list[tuple[str, str]]:
    """Return digests with the classes they were learned as; raise an error for an unknown one."""
    found = [(digest, label) for digest in files for label in record.holding(digest)]
    strange = [file for digest, file in files.items() if not record.holding(digest)]
    if strange:
        others = len(strange) - 1
        more = f" and {many(others, 'other photo')} were" if others else " was"
        raise ClsnetError(f"{strange[0]}{more} not learned by this model; nothing was changed.")
    return found


def _counts(taught: Model, classes: Sequence[str]) -> Counts:
    """Count the photos of classes, or raise an error if they cannot be forgotten."""
    known = taught.classifier
    if classes and known.rule.retain == "total":
        raise ClsnetError(
            "the model keeps one total over all classes, so no class can be taken out of it by its "
            "name: forget its photos (--photo FOLDER), or learn the other classes into a new model "
            "with --keep classes."
        )
    return {str(label): sum(task.counts.get(label, 0) for task in known.tasks) for label in classes}
