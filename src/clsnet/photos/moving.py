"""Taking photos and classes out of a model, or moving photos to another class."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from clsnet.errors import ClsnetError
from clsnet.images import Report
from clsnet.model import Model
from clsnet.photos.familiarity import Familiarity, left_out_familiarity
from clsnet.photos.finding import digest_of
from clsnet.photos.noting import DIGITS
from clsnet.photos.predicting import photo_files
from clsnet.photos.reading import features
from clsnet.photos.record import Record
from clsnet.photos.unscaled import Unscaled


def by_digest(paths: Iterable[str | os.PathLike[str]]) -> dict[str, Path]:
    """Return photos by the digest of their contents, each once; all must be readable."""
    found: dict[str, Path] = {}
    for path in photo_files(paths):
        digest = digest_of(path)
        if isinstance(digest, OSError):
            raise ClsnetError(f"cannot read {path}: {digest.strerror}.")
        found.setdefault(digest, path)
    return found


def features_of(
    taught: Model, photos: Mapping[str, Path], report: Report | None = None
) -> dict[str, np.ndarray]:
    """Return the features of each photo; all must be readable."""
    size = taught.sample_shape[-1]
    A, _, unreadable = features(taught.extractor, list(photos.values()), size, report)
    for line in unreadable.values():
        raise ClsnetError(f"{line}.")
    return dict(zip(photos, A, strict=True))


def with_moved(
    taught: Model,
    rows: Mapping[str, np.ndarray],
    moves: Sequence[tuple[str, str]],
    new: str | None = None,
) -> Model:
    """Return the model as if photos had been learned as another class, or never.

    Parameters
    ----------
    taught
        The model.
    rows
        The representation of each photo, by its digest.
    moves
        Digests, and the class that each was learned as.
    new
        The class that they should have had; None takes them out.
    """
    if not moves:
        return taught
    record, classifier = Record.of(taught.notes or {}), taught.classifier
    unscaled = Unscaled.of(taught.extractor)
    for old in dict.fromkeys(label for _, label in moves):
        own = [digest for digest, label in moves if label == old]
        mine = np.stack([rows[digest] for digest in own])
        before = np.round(left_out_familiarity(classifier, old, mine, unscaled), DIGITS).tolist()
        after: list[float | None] = [None] * len(own)
        if new in record.familiarity:
            look = Familiarity.of_class(classifier, str(new), unscaled)
            after = np.round(look.of(mine), DIGITS).tolist()
        fits = dict(zip(own, zip(before, after, strict=True), strict=True))
        record = record.moved(old, new, fits)
    A, labels = np.stack([rows[digest] for digest, _ in moves]), [label for _, label in moves]
    return _noted(taught.with_moved(A, labels, new), record)


def without_classes(taught: Model, classes: Collection[str]) -> Model:
    """Return the model as if it had never seen classes."""
    record = Record.of(taught.notes or {}).without(classes)
    return _noted(taught.without([], classes, exact=True), record)


def _noted(taught: Model, record: Record) -> Model:
    """Return the model with these notes, and without tasks of which nothing is left."""
    tasks = [task for task in taught.classifier.tasks if task.counts]
    classifier = replace(taught.classifier, tasks=tasks)
    return replace(taught, classifier=classifier, notes=record.notes)
