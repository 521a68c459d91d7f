"""Tiny-ImageNet: 200 classes of ImageNet in miniature."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from clsnet.data.cache import cache_folder
from clsnet.data.dataset import Dataset, Labels
from clsnet.data.registry import DatasetInfo
from clsnet.data.zipped import Member, members
from clsnet.errors import ClsnetError
from clsnet.images import Images, Report

FOLDER = "tiny-imagenet-200"
ARCHIVE = f"{FOLDER}.zip"
CLASSES = "wnids.txt"
TEST_LABELS = "val/val_annotations.txt"
TRAIN_IMAGE = re.compile(r"train/([^/]+)/images/[^/.][^/]*\.jpeg", re.IGNORECASE)

Files = Mapping[str, str | Member]
Rows = list[tuple[str, str]]
"""The class and the file of each image."""


def load(root: Path | None, report: Report) -> Dataset:
    """Load the 64x64 images of the official tree, or of its zip archive without unpacking it.

    The validation images are the test set. Where wnids.txt does not list the classes, they are
    those with both training and validation images.
    """
    place = _find(root)
    if place is None:
        raise ClsnetError(
            f"Tiny-ImageNet is not in {' or '.join(map(str, _folders(root)))}: put {ARCHIVE} "
            f"into {cache_folder(FOLDER)}, or name the folder that holds it"
        )
    files = _archived(place) if place.is_file() else _unpacked(place)
    if TEST_LABELS not in files:
        raise ClsnetError(f"{place} lacks {TEST_LABELS}: put all of {ARCHIVE} there")
    train = [(found[1], name) for name in sorted(files) if (found := TRAIN_IMAGE.fullmatch(name))]
    test = _test_rows(place, files)
    classes = _classes(place, files, train, test)
    parts = [_labelled(files, rows, classes) for rows in (train, test)]
    return Dataset("TinyImageNet", *parts[0], *parts[1], classes)


def available() -> bool:
    """Tell whether all files are on this machine."""
    return _find() is not None


def _folders(root: Path | None) -> list[Path]:
    return [*([root, root / FOLDER] if root else []), cache_folder(FOLDER)]


def _find(root: Path | None = None) -> Path | None:
    for folder in _folders(root):
        if (folder / "train").is_dir() and (folder / "val").is_dir():
            return folder
        if (folder / ARCHIVE).is_file():
            return folder / ARCHIVE
    return None


def _archived(archive: Path) -> Files:
    return {name.removeprefix(f"{FOLDER}/"): file for name, file in members(archive).items()}


def _unpacked(folder: Path) -> Files:
    paths = (f"{place}/{name}" for place, _, names in os.walk(folder) for name in names)
    return {path[len(f"{folder}/") :].replace(os.sep, "/"): path for path in paths}


def _lines(files: Files, name: str) -> list[str]:
    file = files[name]
    text = file.read() if isinstance(file, Member) else Path(file).read_bytes()
    return text.decode(errors="replace").split("\n")


def _test_rows(place: Path, files: Files) -> Rows:
    rows = [line.split() for line in _lines(files, TEST_LABELS) if line.strip()]
    if any(len(row) < 2 for row in rows):
        raise ClsnetError(f"{place}: a line of {TEST_LABELS} is not an image and its class")
    named = [(wnid, f"val/images/{image}") for image, wnid, *_ in rows]
    return [(wnid, name) for wnid, name in named if name in files]


def _classes(place: Path, files: Files, train: Rows, test: Rows) -> tuple[str, ...]:
    whole = {wnid for wnid, _ in train} & {wnid for wnid, _ in test}
    listed = set("\n".join(_lines(files, CLASSES)).split()) if CLASSES in files else whole
    if lacking := sorted(listed - whole):
        raise ClsnetError(
            f"{place} lacks training or validation images of {lacking[0]}: "
            f"put all of {ARCHIVE} there, or take the class out of {CLASSES}"
        )
    if not listed:
        raise ClsnetError(f"{place} holds no class with training and validation images")
    return tuple(sorted(listed))


def _labelled(files: Files, rows: Rows, classes: tuple[str, ...]) -> tuple[Images, Labels]:
    index = {wnid: i for i, wnid in enumerate(classes)}
    used = [(files[name], index[wnid]) for wnid, name in rows if wnid in index]
    return Images([file for file, _ in used]), np.array([label for _, label in used], np.int64)


DATASET = DatasetInfo(
    name="TinyImageNet",
    module=__name__,
    description="photos of things and animals, 64x64, in colour",
    n_classes=200,
    n_train=100_000,
    n_test=10_000,
    source="tiny-imagenet-200.zip, packed or not",
)
