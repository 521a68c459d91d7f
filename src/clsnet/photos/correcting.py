"""Correct the class of photos."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from clsnet.arrays.blas import one_blas_thread
from clsnet.errors import ClsnetError
from clsnet.images import Report
from clsnet.model import Model
from clsnet.photos.class_names import known_class, new_class
from clsnet.photos.moving import by_digest, features_of, with_moved
from clsnet.photos.noting import familiarity_of, with_expectation
from clsnet.photos.predicting import of_photos
from clsnet.photos.record import Change, Counts, Record, now
from clsnet.photos.unscaled import Unscaled
from clsnet.photos.versions import changing, save
from clsnet.storage.files import at_home


@dataclass(frozen=True)
class Corrected:
    """What was corrected.

    Attributes
    ----------
    label
        The class that the photos have now.
    moved
        Number of photos that were moved, by the class they were learned as.
    learned
        Number of photos that had not been learned before.
    known
        Number of photos that were already learned as this class, and as no other.
    gone
        Classes that have no photos left and are therefore removed.
    """

    label: str
    moved: Counts = field(default_factory=dict)
    learned: int = 0
    known: int = 0
    gone: list[str] = field(default_factory=list)


def correct(
    model: str | os.PathLike[str],
    photos: Iterable[str | os.PathLike[str]],
    label: str,
    *,
    new: bool = False,
    report: Report | None = None,
    say: Callable[[str], None] | None = None,
    allow: str | Collection[str] = (),
) -> Corrected:
    """Give photos another class, exactly as if they had been learned that way from the start.

    Photos learned as another class are moved; others are learned. The files must be the ones that
    were learned. The previous version is kept beside the model, for `undo`.

    Parameters
    ----------
    model
        The file of the model.
    photos
        Photos and folders of photos, all of one class.
    label
        The class.
    new
        Whether the class may be new.
    report
        Called as `report(stage, done, total)`, in photos.
    say
        Called with one line of text when another process has to be waited for.
    allow
        Networks that the file may refer to, such as ``"hf:NAME"``; see `clsnet.load`.

    Examples
    --------
    >>> from clsnet.photos import correct
    >>> correct("/tmp/there-is-none.clsnet", ["img.jpg"], "dog")
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: there is no model /tmp/there-is-none.clsnet.
    """
    if not at_home(model).exists():
        raise ClsnetError(f"there is no model {model}.")
    files = by_digest(photos)
    with changing(Path(model), say) as path, one_blas_thread():
        taught = of_photos(path, allow)
        label = _class(label, taught.classes, new)
        record = Record.of(taught.notes or {})
        holding = {digest: record.holding(digest) for digest in files}
        wrong = {digest: held for digest, held in holding.items() if held != [label]}
        if not wrong:
            return Corrected(label, known=len(files))
        rows = features_of(taught, {digest: files[digest] for digest in wrong}, report)
        found = _corrected(taught, rows, wrong, label, _folder(files.values()))
        save(with_expectation(found), path)
        moved = Counter(old for held in wrong.values() for old in held if old != label)
        return Corrected(
            label,
            dict(sorted(moved.items())),
            learned=sum(not held for held in wrong.values()),
            known=len(files) - len(wrong),
            gone=[old for old in taught.classes if old not in found.classes],
        )


def _corrected(
    taught: Model,
    rows: Mapping[str, np.ndarray],
    wrong: Mapping[str, list[str]],
    label: str,
    folder: str,
) -> Model:
    """Return the model in which each photo belongs to this class only."""
    moved, removed = [], []
    for digest, held in wrong.items():
        others = [(digest, old) for old in held if old != label]
        moved += [] if label in held else others[:1]
        removed += others if label in held else others[1:]
    found = with_moved(with_moved(taught, rows, moved, label), rows, removed)
    fresh = {digest: rows[digest] for digest, held in wrong.items() if not held}
    return _learned(found, fresh, label, folder) if fresh else found


def _learned(taught: Model, rows: Mapping[str, np.ndarray], label: str, folder: str) -> Model:
    """Return the model with further photos of one class."""
    old = (taught if taught.classes else taught.unlearned()).classifier
    A, labels = np.stack(list(rows.values())), np.array([label] * len(rows))
    learned = old.learn(lambda: [(A, labels)])
    change = Change(now(), folder, {label: len(rows)})
    fits = familiarity_of(learned, A, labels, Unscaled.of(taught.extractor))
    record = Record.of(taught.notes or {}).after(change, {label: sorted(rows)}, fits)
    return replace(taught, classifier=learned, notes=record.notes)


def _class(label: str, known: Collection[str], new: bool) -> str:
    if new and label not in known:
        return new_class(label)
    return known_class(label, known, advice="; --new creates it")


def _folder(files: Iterable[Path]) -> str:
    """Return the name of the folder that holds photos."""
    return Path(os.path.commonpath([file.resolve().parent for file in files])).name
