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
NO_PHOTO = "The file holds no photo, and no features of single photos."
FILES = "Anyone who has a photo's file can tell whether that exact file was learned, and as what."
FACTOR = (
    "Where photos are few, their sum of products is stored in a shorter form (a triangular "
    "factor). It reveals just as much."
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
    keep
        What sums are kept of: each of the ``"classes"``, or only the ``"total"``.
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
    keep: str = "classes"


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
    lines = inferable(counts, n_features, retain)
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
        retain,
    )


def inferable(counts: Counts, n_features: int, keep: str) -> list[str]:
    """Return what could be inferred from sums, in plain words.

    Parameters
    ----------
    counts
        Photos of each class.
    n_features
        Length of the vector that represents a photo.
    keep
        What sums are kept of.

    Examples
    --------
    >>> inferable({"cat": 1}, 1280, "classes")[0]
    'The file holds no photo, but it gives away the features of each photo of these classes: cat.'
    """
    if not counts:
        return [NO_PHOTO]
    bare = (_bare_in_total if keep == "total" else _bare_in_classes)(counts)
    few = _few_in_total if keep == "total" else _few_in_classes
    lines = [_of_single_photos(bare), FILES]
    all_photos = "all photos vary" if keep == "total" else "its photos vary"
    lines.append(f"The sums tell the average look of each class, and how {all_photos}.")
    if others := few({label: n for label, n in counts.items() if label not in bare}, n_features):
        lines.append(
            f"With fewer photos than features ({n_features:,}), the sums narrow down what the "
            f"features of the photos can be, but do not tell those of any one photo: "
            f"{_names(others)}."
        )
    return lines


def _of_single_photos(bare: list[str]) -> str:
    if not bare:
        return NO_PHOTO
    return (
        "The file holds no photo, but it gives away the features of each photo of these classes: "
        f"{_names(bare)}."
    )


def _bare_in_classes(counts: Counts) -> list[str]:
    """Return the classes whose sums give away the features of each photo."""
    return [label for label, n in counts.items() if n <= BARE]


def _bare_in_total(counts: Counts) -> list[str]:
    """Return such classes if products are summed over all classes together."""
    others = [n for n in counts.values() if n > 1]
    if others == [BARE]:  # the rest is known, and can be taken from the total
        return list(counts)
    return [label for label, n in counts.items() if n == 1]


def _few_in_classes(counts: Counts, n_features: int) -> list[str]:
    """Return the classes that have fewer photos than there are features."""
    return [label for label, n in counts.items() if n < n_features]


def _few_in_total(counts: Counts, n_features: int) -> list[str]:
    """Return all classes, if together they have fewer photos than there are features."""
    return list(counts) if sum(counts.values()) < n_features else []


def _names(labels: list[str], most: int = 5) -> str:
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return ", ".join(labels[:most]) + more
