"""Data sets that can be loaded by name; each is described in its own file."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from clsnet.data.dataset import Dataset
from clsnet.descriptions import find_descriptions
from clsnet.errors import ClsnetError
from clsnet.images import Report

PACKAGES = ("clsnet.data",)
GROUP = "clsnet.datasets"


@dataclass(frozen=True)
class DatasetInfo:
    """The description of a data set, available before it is loaded.

    A module of `clsnet.data` assigns it to ``DATASET``. Another package names its own in the
    entry point group ``clsnet.datasets``. The module also has two functions: ``load(root, report)``
    returns a `Dataset`, and ``available()`` tells whether all files are on this machine.

    Attributes
    ----------
    name
        The first part of a sequence's name.
    module
        ``__name__``: the module that holds the functions.
    description, n_classes, n_train, n_test
        What it is, and how large.
    source
        Where it comes from.
    fetchable
        Whether loading downloads it where it is not available.
    """

    name: str
    module: str
    description: str
    n_classes: int
    n_train: int
    n_test: int
    source: str
    fetchable: bool = False

    def load(self, root: Path | None, report: Report) -> Dataset:
        """Load the data set, from a folder if one is given."""
        dataset: Dataset = self._imported().load(root, report)
        return dataset

    def available(self) -> bool:
        """Tell whether all its files are on this machine."""
        return bool(self._imported().available())

    def _imported(self) -> Any:
        return importlib.import_module(self.module)


def datasets() -> list[DatasetInfo]:
    """List all known data sets, including those of other packages.

    Examples
    --------
    >>> from clsnet.data import datasets
    >>> [digits] = [info for info in datasets() if info.name == "Digits"]
    >>> digits.n_classes, digits.n_train, digits.n_test
    (10, 1437, 360)
    """
    known = _known()
    return [known[name] for name in sorted(known)]


def is_dataset(name: str) -> bool:
    """Whether a data set has this name, in upper or lower case."""
    return name.casefold() in _known()


def find_dataset(name: str) -> DatasetInfo:
    """Look up a data set by its name, in upper or lower case."""
    known, key = _known(), name.casefold()
    if key not in known:
        [nearest] = get_close_matches(key, known, n=1, cutoff=0.0)
        names = ", ".join(info.name for info in datasets())
        raise ClsnetError(
            f"unknown data set {name!r}: the nearest is {known[nearest].name!r} (known: {names})"
        )
    return known[key]


def load_dataset(name: str, root: Path | None = None, report: Report | None = None) -> Dataset:
    """Load a data set; some are downloaded into the cache folder if they are not on this machine.

    Parameters
    ----------
    name
        One of the names that `datasets` lists, in upper or lower case.
    root
        A folder that holds the data set's files; it is searched first.
    report
        Called as `report(stage, done, total)`, in bytes, during a download; a `total` of 0 means
        that it is not known yet.

    Examples
    --------
    >>> from clsnet.data import load_dataset
    >>> digits = load_dataset("digits")
    >>> digits.name, digits.X_train.shape, digits.X_test.shape
    ('Digits', (1437, 8, 8), (360, 8, 8))
    """
    return find_dataset(name).load(root, report or (lambda stage, done, total: None))


def _known() -> dict[str, DatasetInfo]:
    found = find_descriptions(DatasetInfo, "DATASET", PACKAGES, GROUP)
    return {info.name.casefold(): info for info in found.values()}
