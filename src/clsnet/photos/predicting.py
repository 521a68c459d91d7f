"""Classifying photos."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clsnet.arrays.blas import one_blas_thread
from clsnet.errors import ClsnetError
from clsnet.images import Report
from clsnet.model import Model
from clsnet.photos.finding import photos_below
from clsnet.photos.reading import features
from clsnet.photos.record import Record
from clsnet.photos.rejection import Looks
from clsnet.photos.unscaled import Unscaled
from clsnet.photos.versions import put_in_order
from clsnet.storage.files import at_home

REJECT = 0.05
LARGEST_SIDE = 1024


@dataclass(frozen=True)
class Prediction:
    """The answer for one photo.

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
    """Classify photos, or say that they are none of the known classes.

    Parameters
    ----------
    model
        The file of the model.
    paths
        Photos and folders of photos.
    top
        How many classes to name.
    reject
        Say "none of these" of photos that fit worse than this share of photos of known classes
        would; 0 always names a class.
    report
        Called as `report(stage, done, total)`, in photos.
    allow
        Networks that the file may refer to, such as ``"hf:NAME"``; see `clsnet.load`.

    Examples
    --------
    See `clsnet.photos.learn`.
    """
    check_question(top, reject)
    taught = opened(model, allow)
    return Answering(taught).answers(photo_files(paths), top=top, reject=reject, report=report)


class Answering:
    """A model that was read once and answers many questions.

    What follows from the model alone is computed once.

    Parameters
    ----------
    taught
        The model.
    """

    def __init__(self, taught: Model) -> None:
        self.taught = taught
        self._rejection = Record.of(taught.notes or {}).rejection
        self._looks = Looks(taught.classifier, Unscaled.of(taught.extractor))

    def answers(
        self,
        files: Sequence[Path],
        *,
        top: int = 1,
        reject: float = REJECT,
        report: Report | None = None,
    ) -> list[Prediction]:
        """Classify photos; see `predict`."""
        check_question(top, reject)
        taught, rejection = self.taught, self._rejection
        A, rows, unreadable = features(taught.extractor, files, taught.sample_shape[-1], report)
        found = {i: Prediction(files[i], None, [], line) for i, line in unreadable.items()}
        if rows:
            with one_blas_thread(scipy=False):
                scores = taught.classifier.scores(A)
                looks = self._looks.familiar(A, scores.argmax(axis=1))
            fits = rejection.fits(looks, scores.max(axis=1)) >= rejection.threshold(reject)
            chances = taught.probabilities(scores)
            best = np.argsort(-scores, axis=1, kind="stable")[:, :top]
            likely = np.take_along_axis(chances, best, axis=1).tolist()
            for i, row in enumerate(rows):
                names = [taught.classes[column] for column in best[i].tolist()]
                label = names[0] if fits[i] else None
                found[row] = Prediction(files[row], label, list(zip(names, likely[i], strict=True)))
        return [found[i] for i in range(len(files))]


def check_question(top: int, reject: float) -> None:
    """Refuse options that `predict` cannot take."""
    if not 0 <= reject < 1:
        raise ClsnetError(f"reject={reject}: give a share of 0 or more, and less than 1.")
    if top < 1:
        raise ClsnetError(f"top={top}: give 1 or more.")


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


def photo_files(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return photos, and all those in folders."""
    files: list[Path] = []
    for path in (places := [at_home(path) for path in paths]):
        if path.is_dir():
            files += photos_below(path)
        elif path.exists():
            files.append(path)
        else:
            raise ClsnetError(f"there is no photo or folder {path}.")
    if not files:
        raise ClsnetError(f"there is no photo in {', '.join(map(str, places))}.")
    return files
