"""Say what photos show."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from clsnet.data.registry import Report
from clsnet.errors import ClsnetError
from clsnet.model import load
from clsnet.photos.finding import photos_below
from clsnet.photos.reading import features
from clsnet.photos.record import Record

REJECT = 0.05


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
        Say "none of these" below the score that this share of the photos held out while learning
        did not reach; 0 always names a class.
    report
        Called as `report(stage, done, total)`, in photos.

    Examples
    --------
    See `clsnet.photos.learn`.
    """
    if not 0 <= reject < 1:
        raise ClsnetError(f"reject={reject}: give a share of 0 or more, and less than 1.")
    if top < 1:
        raise ClsnetError(f"top={top}: give 1 or more.")
    files = _files([Path(path).expanduser() for path in paths])
    taught = load(Path(model).expanduser())
    if len(taught.sample_shape_) != 3:
        raise ClsnetError(f"{model} did not learn from photos.")
    classes = taught.classes_.tolist()
    if not classes:
        raise ClsnetError(f"{model} has forgotten every class; let it learn some first.")
    A, rows, unreadable = features(taught, files, taught.sample_shape_[-1], report)
    found = {i: Prediction(files[i], None, [], line) for i, line in unreadable.items()}
    if rows:
        scores = taught.classifier_.scores(A).cpu().numpy()
        record = Record.of(getattr(taught, "notes_", {}))
        threshold = record.threshold(reject)
        chances = taught.probabilities(scores / record.softness)
        for row, score, chance in zip(rows, scores, chances, strict=True):
            best = (-score).argsort()[:top].tolist()
            label = classes[best[0]] if score[best[0]] >= threshold else None
            found[row] = Prediction(files[row], label, [(classes[i], chance[i]) for i in best])
    return [found[i] for i in range(len(files))]


def _files(paths: list[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += photos_below(path, path.resolve())
        elif path.exists():
            files.append(path)
        else:
            raise ClsnetError(f"there is no photo or folder {path}.")
    if not files:
        raise ClsnetError(f"there is no photo in {', '.join(map(str, paths))}.")
    return files
