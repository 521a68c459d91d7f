"""A data set: in memory, or images on disk."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clsnet.images import Images

Pixels = npt.NDArray[np.uint8] | Images
"""Images in memory, or on disk."""

Labels = npt.NDArray[np.int64]
"""Indices of classes."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled images, split into a training and a test set.

    Attributes
    ----------
    name
        The canonical name, the first part of a sequence's name.
    X_train, X_test
        Images, `uint8`, of shape (N, height, width) or (N, 3, height, width), in memory or on disk.
    y_train, y_test
        Labels, `int64`, each an index into `class_names`.
    class_names
        Names of the classes.
    skipped
        One line about each unreadable file that was left out.
    folder
        For a folder, a digest of the names and sizes of its files, since folders may share a name.
    """

    name: str
    X_train: Pixels
    y_train: Labels
    X_test: Pixels
    y_test: Labels
    class_names: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    folder: str | None = None
