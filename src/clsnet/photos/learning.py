"""Learning a folder of photos."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from clsnet.arrays.blas import one_blas_thread
from clsnet.arrays.ranks import alone, gathered, rank
from clsnet.arrays.restarts import folder_beside, surviving
from clsnet.classifier.left_out import left_out_scores
from clsnet.errors import ClsnetError
from clsnet.extractor import Backbone
from clsnet.extractor.backbones.network import Network
from clsnet.header import read
from clsnet.images import Report
from clsnet.model import Model
from clsnet.photos.class_names import new_class
from clsnet.photos.doubts import (
    Doubt,
    DoubtfulLabels,
    copies,
    doubtful,
    lookalikes,
    with_same_files,
)
from clsnet.photos.expectation import Expectation
from clsnet.photos.finding import Found, Photo, find
from clsnet.photos.moving import by_digest
from clsnet.photos.noting import familiarity_of, of_left_out, with_expectation
from clsnet.photos.opening import opened
from clsnet.photos.presets import network_of
from clsnet.photos.reading_together import shared_features
from clsnet.photos.record import Change, Counts, Record, now
from clsnet.photos.second_look import copied, few, shared
from clsnet.photos.unscaled import Unscaled
from clsnet.photos.versions import changing, save
from clsnet.storage.files import at_home

KEEPS = ("classes", "total")


@dataclass(frozen=True)
class Learned:
    """What was learned or, with ``dry_run``, would be.

    Attributes
    ----------
    counts
        Number of photos learned of each class; empty if all were known already.
    new
        Classes that were not known before.
    known
        Number of photos that had been learned before and were skipped.
    expectation
        Estimated accuracy on new photos of all classes known now; None if there is no estimate. For
        a model that keeps only the total, it covers only the classes of these photos.
    unreadable
        One line about each photo that cannot be read.
    warnings
        Lines about what may be a mistake.
    doubts
        Photos whose class may be wrong.
    totals
        Number of photos of each class known now.
    keep
        What the model keeps sums of: each of the ``"classes"``, or only the ``"total"``.
    """

    counts: Counts
    new: list[str]
    known: int
    expectation: Expectation | None = None
    unreadable: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    totals: Counts = field(default_factory=dict)
    keep: str = "classes"


def learn(
    model: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    backbone: str | Backbone | None = None,
    preset: str | None = None,
    keep: str | None = None,
    self_contained: bool = False,
    strict: bool = False,
    dry_run: bool = False,
    report: Report | None = None,
    say: Callable[[str], None] | None = None,
    allow: str | Collection[str] = (),
) -> Learned:
    """Learn the photos of a folder that the model does not know yet.

    The model keeps sums over the photos and a 16-byte digest (hash) of each file, so that no file
    is learned twice. It keeps no photo and no features of a single photo. The file changes only
    when everything is learned; the previous version is kept beside it, for `undo`.

    Parameters
    ----------
    model
        The file of the model; it is created if it does not exist.
    folder
        A folder that holds one folder of photos for each class, new or known.
    backbone
        For a new model: the frozen network, instead of a preset.
    preset
        For a new model: ``"fast"`` (the default) is EfficientNet-Lite0; ``"best"`` is
        EfficientNet-Lite0, 1 and 2 side by side, more accurate and about four times slower.
    keep
        For a new model: keep sums for each of the ``"classes"`` (the default), so that any class
        can be forgotten, or only in ``"total"``, which makes a smaller file.
    self_contained
        From now on, store the frozen network's weights in the file, so that it works without the
        file or package that they came from.
    strict
        Learn nothing if the class of a photo may be wrong.
    dry_run
        Only find out what would be learned.
    report
        Called as `report(stage, done, total)`, in photos.
    say
        Called with one line of text when another process has to be waited for.
    allow
        Networks that the file may refer to besides `backbone`, such as ``"hf:NAME"``; see
        `clsnet.load`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from clsnet.extractor import Patches
    >>> from clsnet.photos import learn, predict
    >>> with tempfile.TemporaryDirectory() as name:
    ...     for colour in ("red", "blue"):
    ...         (Path(name) / "photos" / colour).mkdir(parents=True)
    ...         for i in range(3):
    ...             image = Image.new("RGB", (64 + i, 64), colour)
    ...             image.save(Path(name) / "photos" / colour / f"{i}.png")
    ...     model = Path(name) / "colours.clsnet"
    ...     tiny = Patches(filters=2, pool=2)
    ...     learned = learn(model, Path(name) / "photos", backbone=tiny)
    ...     [found] = predict(model, [Path(name) / "photos/red/0.png"])
    >>> learned.counts, found.label
    ({'blue': 3, 'red': 3}, 'red')
    """
    if keep not in (None, *KEEPS):
        raise ClsnetError(f"keep={keep!r}: use {' or '.join(KEEPS)}.")
    backbone = network_of(preset, backbone)
    path = Path(model)
    if at_home(path).is_dir():
        raise ClsnetError(f"{model} is a folder: name the model's file, then the folder of photos.")
    first = rank() == 0
    found = find(Path(folder), report) if first or dry_run else Found([])
    if dry_run:
        header = read(path)[0] if path.exists() else {}
        return _plan(found, Record.of(header.get("notes", {})))[1]
    changed = changing(path, say) if first else nullcontext(at_home(path).resolve())
    with changed as path, one_blas_thread():
        found = Found.of(gathered(found.plain)[0])
        name = at_home(folder).resolve().name
        taught = opened(path, backbone, keep, [allow] if isinstance(allow, str) else allow)
        with surviving(folder_beside(path)):
            return _learn(taught, path, name, found, self_contained, strict, report)


def learn_class(
    model: str | os.PathLike[str],
    photos: Sequence[Path],
    label: str,
    *,
    source: str,
    report: Report | None = None,
    say: Callable[[str], None] | None = None,
    allow: str | Collection[str] = (),
) -> Learned:
    """Learn photos of one class, from any place; otherwise the same as `learn`.

    Parameters
    ----------
    model
        The file of the model; it is created if it does not exist.
    photos
        Files.
    label
        Their class, new or known.
    source
        The name of a folder to note as their origin.
    report
        Called as `report(stage, done, total)`, in photos.
    say
        Called with one line of text when another process has to be waited for.
    allow
        Networks that the file may refer to; see `clsnet.load`.
    """
    label = new_class(label)
    files = by_digest(photos)
    found = Found([Photo(path, label, digest) for digest, path in files.items()])
    with changing(Path(model), say) as path:
        taught = opened(path, None, None, [allow] if isinstance(allow, str) else allow)
        return _learn(taught, path, source, found, False, False, report)


def _learn(
    model: Model,
    path: Path,
    folder: str,
    found: Found,
    self_contained: bool,
    strict: bool,
    report: Report | None,
) -> Learned:
    extractor, size = model.extractor, model.sample_shape[-1]
    record = Record.of(model.notes or {})
    photos, plan = _plan(found, record)
    A, rows, unreadable = shared_features(extractor, [p.path for p in photos], size, report)
    lines = [*found.unreadable, *unreadable.values()]
    if not rows:
        if not plan.known:
            said = _first(lines) or "".join(f" {line}." for line in plan.warnings[:1])
            raise ClsnetError(f"there is no photo to learn in {folder}.{said}")
        warnings = [*plan.warnings, *(_refers(path, model) if self_contained else ())]
        return Learned({}, [], plan.known, None, lines, warnings)
    photos = [photos[row] for row in rows]
    labels = np.array([photo.label for photo in photos])
    old = (model if model.classes else model.unlearned()).classifier
    counts, unscaled = dict(Counter(labels.tolist())), Unscaled.of(extractor)
    comparable = A if isinstance(extractor.backbone, Network) else A[:0]
    # Every process has all features now; of its cores, BLAS uses one.
    with alone(), ThreadPoolExecutor(1) as other:
        finding_copies = other.submit(copies, comparable, photos)
        finding_alike = other.submit(copied, comparable, photos)
        learned = old.learn(lambda: [(A, labels)])
        finding_fits = other.submit(familiarity_of, learned, A, labels, unscaled)
        left_out = left_out_scores(learned, A, labels)
        doubts = doubtful(learned, A, photos, left_out) if len(learned.labels) > 1 else []
        doubts += finding_copies.result()
        alike, fits = finding_alike.result(), finding_fits.result()
    doubts = with_same_files(doubts, photos, record.digests)
    if strict and doubts:
        raise DoubtfulLabels(doubts)
    warnings = [
        *plan.warnings,
        *few(counts, record),
        *(
            f"{new} looks like {known}: {n} of its {total} photos were taken for {known}"
            for new, known, n, total in lookalikes(old, A, labels, record.familiarity, unscaled)
        ),
        *alike,
    ]
    digests: dict[str, list[str]] = {}
    for photo in photos:
        digests.setdefault(photo.label, []).append(photo.digest)
    record = record.after(Change(now(), folder, counts), digests, fits)
    taught = with_expectation(replace(model, classifier=learned, notes=record.notes))
    if rank() == 0:
        save(taught, path, self_contained)
    expectation = Record.of(taught.notes or {}).expectation
    totals = {label: len(held) for label, held in record.digests.items()}
    return Learned(
        counts,
        [c for c in counts if c in plan.new],
        plan.known,
        expectation or of_left_out(learned, left_out, labels),
        lines,
        warnings,
        doubts,
        totals,
        old.rule.retain,
    )


def _refers(path: Path, model: Model) -> list[str]:
    """Say that a file which is not written anew still needs weights from elsewhere."""
    if not model.extractor.referred_mb:
        return []
    return [f"{path} is unchanged and not self-contained: the file changes with the next new photo"]


def _plan(found: Found, record: Record) -> tuple[list[Photo], Learned]:
    """Return the photos that are not known yet, and warnings that need no reading of photos."""
    known = {label: set(digests) for label, digests in record.digests.items()}
    photos = [p for p in found.photos if p.digest not in known.get(p.label, ())]
    counts = dict(Counter(photo.label for photo in photos))
    new = [label for label in counts if label not in known]
    warnings = [*found.warnings, *shared(found.photos, known)]
    left = len(found.photos) - len(photos)
    return photos, Learned(counts, new, left, None, found.unreadable, warnings)


def _first(lines: Sequence[str]) -> str:
    if len(lines) < 2:
        return "".join(f" Reason: {line}." for line in lines)
    return f" The first of {len(lines)} that cannot be read: {lines[0]}"
