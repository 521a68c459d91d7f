"""The data sets that can be loaded by name; each registers itself from its own file."""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from clsnet.data.dataset import Dataset
from clsnet.errors import ClsnetError
from clsnet.images.progress import Report


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set before it is loaded.

    Attributes
    ----------
    name, description, n_classes, n_train, n_test
        What it is, and how large.
    source
        Where it comes from.
    available
        Call it to learn whether loading needs no download.
    load
        Loads it, from a folder where one is given.
    fetchable
        Whether loading downloads it where it is not available.
    """

    name: str
    description: str
    n_classes: int
    n_train: int
    n_test: int
    source: str
    available: Callable[[], bool]
    load: Callable[[Path | None, Report], Dataset]
    fetchable: bool = False


_registry: dict[str, DatasetInfo] = {}


def register(info: DatasetInfo) -> None:
    """Make a data set known under its name."""
    _registry[info.name.casefold()] = info


def datasets() -> list[DatasetInfo]:
    """List the known data sets by name.

    Examples
    --------
    >>> from clsnet.data import datasets
    >>> for info in datasets():
    ...     print(info.name, info.n_classes, info.n_train, info.n_test)
    CIFAR-10 10 50000 10000
    CIFAR-100 100 50000 10000
    Digits 10 1437 360
    FashionMNIST 10 60000 10000
    ImageNet 1000 1281167 50000
    TinyImageNet 200 100000 10000
    """
    return [_registry[key] for key in sorted(_registry)]


def is_dataset(name: str) -> bool:
    """Tell whether a data set has this name, in any case."""
    return name.casefold() in _registry


def find_dataset(name: str) -> DatasetInfo:
    """Look a data set up by its name, in any case."""
    key = name.casefold()
    if key not in _registry:
        [nearest] = get_close_matches(key, _registry, n=1, cutoff=0.0)
        known = ", ".join(info.name for info in datasets())
        raise ClsnetError(
            f"unknown data set {name!r}: the nearest is {_registry[nearest].name!r} "
            f"(known: {known})"
        )
    return _registry[key]


def load_dataset(name: str, root: Path | None = None, report: Report | None = None) -> Dataset:
    """Load a data set; some are fetched into the cache folder if nowhere on this machine.

    Parameters
    ----------
    name
        One of the names that `datasets` lists, in any case.
    root
        A folder that holds the data set's files, looked into first.
    report
        Called as `report(stage, done, total)`, in bytes, while something is fetched;
        a `total` of 0 is not known yet.

    Examples
    --------
    >>> from clsnet.data import load_dataset
    >>> digits = load_dataset("digits")
    >>> digits.name, digits.X_train.shape, digits.X_test.shape
    ('Digits', (1437, 8, 8), (360, 8, 8))
    """
    return find_dataset(name).load(root, report or (lambda stage, done, total: None))
