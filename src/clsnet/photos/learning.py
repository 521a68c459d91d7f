"""Learn a folder of photos."""

from __future__ import annotations

import copy
import os
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from clsnet.arrays.ranks import alone, gathered, rank
from clsnet.errors import ClsnetError
from clsnet.extractor import Augmentation, Backbone, Extractor, Identity
from clsnet.extractor.backbones import resolve_backbone
from clsnet.extractor.backbones.network import Network
from clsnet.header import read
from clsnet.images import Report
from clsnet.model import Model
from clsnet.photos.estimate import (
    ENOUGH,
    Estimate,
    estimated,
    held_out,
    held_out_familiarity,
    lookalikes,
)
from clsnet.photos.finding import Found, Photo, find
from clsnet.photos.predicting import of_photos
from clsnet.photos.reading_together import shared_features
from clsnet.photos.record import Change, Counts, Record, now
from clsnet.photos.twins import twins
from clsnet.photos.versions import changing, save
from clsnet.storage.files import at_home

BACKBONE = "efficientnet-lite0"
TAPS = "last"  # 1,280 features: what is kept of a class of 50 photos fits in half a megabyte
LIKELY = 0.01
PHOTOGRAPH = (3, 224, 224)
SIZE = 64  # for backbones that take any
SEED = int(np.random.RandomState(0).randint(2**31))  # that of ``CLSNet(random_state=0)``
KEEPS = ("classes", "total")


@dataclass(frozen=True)
class Learned:
    """What was learned, or with ``dry_run`` would be.

    Attributes
    ----------
    counts
        Photos learned of each class; empty if all were known.
    new
        The classes that were not known before.
    known
        Photos that had been learned before, and were left out.
    outcome
        What became of the photos held out; None where nothing can be said.
    unreadable
        One line about each photo that cannot be read.
    warnings
        What is worth a second look.
    """

    counts: Counts
    new: list[str]
    known: int
    outcome: Estimate | None = None
    unreadable: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def learn(
    model: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    backbone: str | Backbone | None = None,
    keep: str | None = None,
    self_contained: bool = False,
    dry_run: bool = False,
    report: Report | None = None,
    say: Callable[[str], None] | None = None,
    allow: str | Collection[str] = (),
) -> Learned:
    """Learn every photo of a folder that the model does not know yet.

    Sums over the photos are kept, and 16 bytes for each file, so that it is not learned twice;
    no photo, and no representation of one. Until all is learned the file stays as it was; then
    the version before is kept beside it, for `undo`.

    Parameters
    ----------
    model
        The file of the model; made if it is not there.
    folder
        Holds one folder of photos for each class, new or known.
    backbone
        The frozen network of a new model, EfficientNet-Lite0 if not given.
    keep
        Of a new model: sums of products over each of its ``"classes"``, so that it can forget any
        of them (if not given), or only over all in ``"total"``, in a file that hardly grows.
    self_contained
        From now on let the file hold the frozen network's weights too, so that it works without
        the file or the package that they came from.
    dry_run
        Only find out what would be learned.
    report
        Called as `report(stage, done, total)`, in photos.
    say
        Told when another process has to be waited for.
    allow
        Networks that the file may refer to beside `backbone`, such as ``"hf:NAME"``; see
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
    path = Path(model)
    if at_home(path).is_dir():
        raise ClsnetError(f"{model} is a folder: name the model's file, then the folder of photos.")
    first = rank() == 0
    found = find(Path(folder), report) if first or dry_run else Found([])
    if dry_run:
        header = read(path)[0] if path.exists() else {}
        return _plan(found, Record.of(header.get("notes", {})))[1]
    with changing(path, say) if first else nullcontext(at_home(path).resolve()) as path:
        found = Found.of(gathered(found.plain)[0])
        name = at_home(folder).resolve().name
        taught = _opened(path, backbone, keep, [allow] if isinstance(allow, str) else allow)
        return _learn(taught, path, name, found, self_contained, report)


def _learn(
    model: Model,
    path: Path,
    folder: str,
    found: Found,
    self_contained: bool,
    report: Report | None,
) -> Learned:
    extractor, size = model.extractor, model.sample_shape[-1]
    record = Record.of(model.notes or {})
    photos, plan = _plan(found, record)
    A, rows, unreadable = shared_features(extractor, [p.path for p in photos], size, report)
    lines = [*found.unreadable, *unreadable.values()]
    if not rows:
        if not plan.known:
            raise ClsnetError(f"there is no photo to learn in {folder}.{_first(lines)}")
        warnings = [*plan.warnings, *(_refers(path, model) if self_contained else ())]
        return Learned({}, [], plan.known, None, lines, warnings)
    photos = [photos[row] for row in rows]
    labels = np.array([photo.label for photo in photos])
    old = (model if model.classes else model.unlearned()).classifier
    with alone():  # every process has all features now
        held = held_out(labels, [photo.digest for photo in photos])
        estimate = estimated(old, A, labels, held)
        familiarity = held_out_familiarity(old, A, labels, held)
        learned = old.learn(lambda: [(A, labels)])
    counts = dict(Counter(labels.tolist()))
    likely = record.threshold(LIKELY)
    warnings = [
        *plan.warnings,
        *_few(counts, record),
        *(
            f"{new} looks like {known}: {n} of its {total} photos were taken for {known}"
            for new, known, n, total in lookalikes(old, A, labels, likely)
        ),
        *(_copies(A, photos) if isinstance(extractor.backbone, Network) else ()),
    ]
    digests: dict[str, list[str]] = {}
    for photo in photos:
        digests.setdefault(photo.label, []).append(photo.digest)
    record = record.after(Change(now(), folder, counts), digests, familiarity)
    if rank() == 0:
        save(replace(model, classifier=learned, notes=record.notes), path, self_contained)
    return Learned(
        counts, [c for c in counts if c in plan.new], plan.known, estimate, lines, warnings
    )


def _opened(
    path: Path, backbone: str | Backbone | None, keep: str | None, allow: Collection[str]
) -> Model:
    """Return the model, or a new one whose extractor the first photos will fit."""
    if path.exists():
        named = _absolute(backbone) if backbone else ""
        model = of_photos(path, [*allow, named] if isinstance(named, str) else allow)
        retain = model.classifier.rule.retain
        if backbone is not None and not _same(backbone, model):
            raise ClsnetError(
                f"{path} learned with the backbone {model.parameters['backbone']}, so it cannot "
                f"go on with {backbone}; omit --backbone, or start another model."
            )
        if keep not in (None, retain):
            raise ClsnetError(
                f"{path} was made with --keep {retain}, so it cannot go on with --keep "
                f"{keep}; omit --keep, or start another model."
            )
        return model
    name = _absolute(backbone or BACKBONE)
    chosen = resolve_backbone(name, PHOTOGRAPH, TAPS, views=1)
    if isinstance(chosen, Identity):
        raise ClsnetError("the backbone identity is for vectors, not for photos.")
    size = chosen.size if isinstance(chosen, Network) else SIZE
    options = {"backbone": name, "taps": TAPS, "views": 1, "connection": "Z"}
    extractor = Extractor(copy.deepcopy(chosen), Augmentation("Z"), SEED)
    return Model.blank(extractor, (3, size, size), {**options, "retain": keep or "classes"})


def _same(backbone: str | Backbone, model: Model) -> bool:
    if _absolute(backbone) == model.parameters["backbone"]:
        return True
    mine = model.extractor.backbone
    alike = {k: v for k, v in mine.config.items() if k in ("taps", "views", "nodes")}
    other = resolve_backbone(backbone, model.sample_shape, **alike)
    if isinstance(mine, Network) and isinstance(other, Network):
        return mine.fingerprint == other.fingerprint
    return repr(mine) == repr(other)


def _refers(path: Path, model: Model) -> list[str]:
    """Say that a file which is not written anew still needs weights from elsewhere."""
    if not model.extractor.referred_mb:
        return []
    return [f"{path} is as it was, not self-contained: that takes a new photo to learn"]


def _absolute(backbone: str | Backbone) -> str | Backbone:
    """Return a backbone's name with the whole path of its file, if it has one."""
    if isinstance(backbone, Backbone) or not backbone.endswith(".safetensors"):
        return backbone
    kind, colon, file = backbone.rpartition(":")
    return f"{kind}{colon}{at_home(file).resolve()}"


def _plan(found: Found, record: Record) -> tuple[list[Photo], Learned]:
    """Return the photos that are not known yet, and what there is to say before they are read."""
    known = {label: set(digests) for label, digests in record.digests.items()}
    photos = [p for p in found.photos if p.digest not in known.get(p.label, ())]
    counts = dict(Counter(photo.label for photo in photos))
    new = [label for label in counts if label not in known]
    warnings = [*found.warnings, *_shared(found.photos, known)]
    left = len(found.photos) - len(photos)
    return photos, Learned(counts, new, left, None, found.unreadable, warnings)


def _shared(photos: Sequence[Photo], known: dict[str, set[str]]) -> list[str]:
    """Name every two classes that hold the same files."""
    owners: dict[str, set[str]] = {}
    for photo in photos:
        owners.setdefault(photo.digest, set()).add(photo.label)
    for label, digests in known.items():
        for digest in digests & owners.keys():
            owners[digest].add(label)
    pairs = Counter((a, b) for labels in owners.values() for a in labels for b in labels if a < b)
    return [
        f"{a} and {b} hold {n} of the same photo{'s'[: n > 1]}: one name of them may be wrong"
        for (a, b), n in sorted(pairs.items())
    ]


def _copies(A: np.ndarray, photos: Sequence[Photo]) -> list[str]:
    """Name every two classes whose photos look the same, though they are not the same files."""
    times = Counter(photo.digest for photo in photos)
    rows = [i for i, photo in enumerate(photos) if times[photo.digest] == 1]
    return [
        f"{one} and {other} look like copies: {same} of {n} photos of {one} are in {other} too"
        for one, other, same, n in twins(A[rows], np.array([photos[i].label for i in rows]))
    ]


def _few(counts: Counts, record: Record) -> list[str]:
    totals = {label: n + len(record.digests.get(label, ())) for label, n in counts.items()}
    return [
        f"{label} has {n} photo{'s'[: n > 1]}: more would help"
        for label, n in totals.items()
        if n <= ENOUGH
    ]


def _first(lines: Sequence[str]) -> str:
    return f" The first of {len(lines)} that cannot be read: {lines[0]}" if lines else ""
