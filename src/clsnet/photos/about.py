"""Describe a model of photos: what it knows and what its file contains."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from clsnet.errors import ClsnetError
from clsnet.header import read
from clsnet.photos.expectation import Expectation
from clsnet.photos.record import Change, Counts, Record
from clsnet.photos.versions import lying_beside, put_in_order
from clsnet.storage import model_file
from clsnet.storage.files import at_home

SUMS = {
    "classes": "sums of products and sums of features, per class",
    "tasks": "sums of products and sums of features, per task",
    "total": "sums of products in total, and sums of features per class",
}
KINDS = {
    "omega": "weights of the classifier",
    "extractor": "scales of the features",
    "network": "weights of the frozen network",
}
DIGESTS = "digests (hashes) of the files learned"
BARE = 2  # photos whose features follow from their sum and their sum of products
REST = "names, dates, counts, familiarity of photos, estimates of accuracy"
ALWAYS = (
    "The file holds no photo, and no features of single photos.",
    "Anyone who has a photo's file can tell whether that exact file was learned, and as what.",
)
FACTOR = (
    "Where photos are few, a triangular factor stands for their sum of products: it takes less "
    "room, and tells the same."
)


@dataclass(frozen=True)
class Info:
    """What a model knows and what its file contains.

    Attributes
    ----------
    counts
        Photos of each class.
    history
        Every call of `learn` for classes that are still known, oldest first.
    backbone
        The frozen network.
    self_contained
        Whether the file needs nothing but code: the network's weights are in it, if it has any.
    features
        Length of the vector that represents a photo.
    size
        Bytes of the file.
    kept
        Bytes of each kind of contents.
    inferable
        What could be inferred from it, in plain words.
    beside
        Files beside the model that still hold older versions of it.
    expectation
        Estimated accuracy on new photos of these classes; None if there is no estimate.
    """

    counts: Counts
    history: list[Change]
    backbone: str
    self_contained: bool
    features: int
    size: int
    kept: dict[str, int]
    inferable: list[str]
    beside: list[Path]
    expectation: Expectation | None = None


def info(model: str | os.PathLike[str]) -> Info:
    """Describe a model: what it knows, what its file contains, what that reveals.

    Parameters
    ----------
    model
        The file of the model.

    Examples
    --------
    >>> from clsnet.photos import info
    >>> info("/tmp/there-is-none.clsnet")
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: cannot read /tmp/there-is-none.clsnet: No such file or directory.
    """
    path = at_home(model)
    put_in_order(path)
    header, arrays = read(path)
    notes = header.get("notes", {})
    if "photos" not in notes:
        raise ClsnetError(f"{path} was not made by clsnet learn.")
    record = Record.of(notes)
    counts = {
        label: sum(dict(task).get(label, 0) for task in header["tasks"])
        for label in header["labels"]
    }
    size = path.stat().st_size
    retain = header["params"].get("retain", "total")
    kinds = {"trace": SUMS[retain], **KINDS}
    kept: dict[str, int] = {}
    for name, array in arrays.items():
        kind = kinds[name.partition(".")[0]]
        kept[kind] = kept.get(kind, 0) + model_file.numbers(name, array) * array.itemsize
    kept[DIGESTS] = len(json.dumps(record.digests))
    kept[REST] = size - sum(kept.values())
    backbone = header["params"].get("backbone")
    backbone = backbone if isinstance(backbone, str) else header["backbone"]["backbone"]
    n_features = len(arrays["omega"])
    lines = [*ALWAYS, *(_of_total if retain == "total" else _of_classes)(counts, n_features)]
    if any(name.endswith(".rows") for name in arrays):
        lines.append(FACTOR)
    return Info(
        counts,
        record.history,
        backbone,
        "fingerprint" not in header or "form" in header,
        n_features,
        size,
        kept,
        lines,
        lying_beside(path),
        record.expectation,
    )


def _of_classes(counts: Counts, n_features: int) -> list[str]:
    lines = ["The sums tell the average look of each class, and how its photos vary."]
    bare = [label for label, n in counts.items() if n <= BARE]
    few = [label for label, n in counts.items() if BARE < n < n_features]
    if bare:
        lines.append(f"Sums over one or two photos give away the features of each: {_names(bare)}.")
    if few:
        lines.append(
            f"With fewer photos than features ({n_features:,}), the sums tell the space that the "
            f"features of the photos span, but not the features of any one photo: {_names(few)}."
        )
    return lines


def _of_total(counts: Counts, n_features: int) -> list[str]:
    lines = ["The sums tell the average look of each class, and how all photos vary."]
    bare = [label for label, n in counts.items() if n == 1]
    others = {label: n for label, n in counts.items() if n > 1}
    if list(others.values()) == [BARE]:  # the rest is known, and can be taken from the total
        bare = list(counts)
    if bare:
        lines.append(f"They give away the features of each photo of: {_names(bare)}.")
    if sum(counts.values()) < n_features:
        lines.append(
            f"With fewer photos than features ({n_features:,}), the sums tell the space that the "
            "features of the photos span, but not the features of any one photo."
        )
    return lines


def _names(labels: list[str], most: int = 5) -> str:
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return ", ".join(labels[:most]) + more
