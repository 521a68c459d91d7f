"""Say what photos show."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clsnet.errors import ClsnetError
from clsnet.images import Report
from clsnet.model import Model
from clsnet.photos.familiarity import class_sums, familiarity
from clsnet.photos.finding import photos_below
from clsnet.photos.reading import features
from clsnet.photos.record import Record
from clsnet.photos.versions import put_in_order
from clsnet.storage.files import at_home

REJECT = 0.05
LARGEST_SIDE = 1024


@dataclass(frozen=True)
class Prediction:
    """What a photo shows.

    Attributes
    ----------
    path
        The photo.
    label
        The most probable class, or None: none of these.
    top
        The most probable classes and their probabilities, if it is one of them.
    unreadable
        Why it cannot be read.
    """

    path: Path
    label: str | None
    top: list[tuple[str, float]]
    unreadable: str = ""


def predict(
    model: str | os.PathLike[str],
    paths: Iterable[str | os.PathLike[str]],
    *,
    top: int = 1,
    reject: float = REJECT,
    report: Report | None = None,
    allow: str | Collection[str] = (),
) -> list[Prediction]:
    """Say what photos show.

    Parameters
    ----------
    model
        The file of the model.
    paths
        Photos, and folders of photos.
    top
        How many classes to name.
    reject
        Say "none of these" of photos that fit worse than this share of the photos held out while
        learning did; 0 always names a class.
    report
        Called as `report(stage, done, total)`, in photos.
    allow
        Networks that the file may refer to, such as ``"hf:NAME"``; see `clsnet.load`.

    Examples
    --------
    See `clsnet.photos.learn`.
    """
    if not 0 <= reject < 1:
        raise ClsnetError(f"reject={reject}: give a share of 0 or more, and less than 1.")
    if top < 1:
        raise ClsnetError(f"top={top}: give 1 or more.")
    taught = opened(model, allow)
    files = _files([at_home(path) for path in paths])
    A, rows, unreadable = features(taught.extractor, files, taught.sample_shape[-1], report)
    found = {i: Prediction(files[i], None, [], line) for i, line in unreadable.items()}
    if rows:
        record = Record.of(taught.notes or {})
        scores = taught.classifier.scores(A)
        sums = class_sums(taught.classifier)
        fits = familiarity(A, scores.argmax(axis=1), sums) >= record.threshold(reject)
        chances = taught.probabilities(scores)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :top]
        likely = np.take_along_axis(chances, best, axis=1).tolist()
        for i, row in enumerate(rows):
            names = [taught.classes[column] for column in best[i].tolist()]
            label = names[0] if fits[i] else None
            found[row] = Prediction(files[row], label, list(zip(names, likely[i], strict=True)))
    return [found[i] for i in range(len(files))]


def opened(model: str | os.PathLike[str], allow: str | Collection[str]) -> Model:
    """Read a model that has learned photos and still knows some."""
    path = at_home(model)
    put_in_order(path)
    taught = of_photos(path, allow)
    if not taught.classes:
        raise ClsnetError(f"{model} has forgotten every class; let it learn some first.")
    return taught


def of_photos(path: Path, allow: str | Collection[str]) -> Model:
    """Read a model that learns photos."""
    model = Model.load(path, allow=allow)
    colours, *sides = model.sample_shape
    square = colours == 3 and len(sides) == 2 and sides[0] == sides[1] <= LARGEST_SIDE
    if not square or not all(isinstance(label, str) for label in model.classes):
        raise ClsnetError(f"{path} did not learn from photos.")
    return model


def _files(paths: list[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += photos_below(path)
        elif path.exists():
            files.append(path)
        else:
            raise ClsnetError(f"there is no photo or folder {path}.")
    if not files:
        raise ClsnetError(f"there is no photo in {', '.join(map(str, paths))}.")
    return files
