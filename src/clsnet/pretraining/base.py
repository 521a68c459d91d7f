"""What a network is pretrained on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clsnet.data import Report, load_folder, load_sequence


@dataclass(frozen=True, eq=False)
class Base:
    """Images of base classes.

    Parameters
    ----------
    name
        Of the data set.
    X, X_test
        Images to train on, and held-out ones: `uint8` arrays (n, height, width) or
        (n, 3, height, width), or images decoded on demand.
    y, y_test
        Codes 0, 1, 2, ... of their classes.
    class_names
        Names of the classes.
    skipped
        One line about each unreadable file that was left out.
    """

    name: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    class_names: tuple[str, ...]
    skipped: tuple[str, ...] = ()


def load_base(
    name: str,
    seed: int = 0,
    root: Path | None = None,
    report: Report | None = None,
    strict: bool = False,
) -> Base:
    """Load the classes that a sequence does not use in its tasks, or a whole folder of images.

    Parameters
    ----------
    name
        Name of a sequence, or ``"folder:PATH"``, all classes of that folder.
    seed
        The sequence's seed, which determines the classes that its tasks use.
    root, report, strict
        As for `load_sequence`.

    Examples
    --------
    >>> base = load_base("Digits-4/2")
    >>> base.class_names, base.X.shape
    (('0', '1', '3', '5', '8', '9'), (862, 8, 8))
    """
    kind, _, path = name.partition(":")
    if kind.casefold() == "folder" and path:
        data = load_folder((root or Path()) / path, strict, report)
        parts = data.X_train, data.y_train, data.X_test, data.y_test
        return Base(data.name, *parts, data.class_names, data.skipped)
    sequence = load_sequence(name, root, report, strict)
    data = sequence.dataset
    parts = sequence.base_data(seed)
    names = tuple(data.class_names[code] for code in sequence.base_classes(seed))
    return Base(data.name, *parts, names, data.skipped)
