"""A data set in memory."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled images, split into a training and a test set.

    Attributes
    ----------
    name
        The canonical name, the first part of a sequence's name.
    X_train, X_test
        Images, `uint8`, of shape (N, height, width).
    y_train, y_test
        Labels, `int64`, each an index into `class_names`.
    class_names
        What the classes are called.
    """

    name: str
    X_train: npt.NDArray[np.uint8]
    y_train: npt.NDArray[np.int64]
    X_test: npt.NDArray[np.uint8]
    y_test: npt.NDArray[np.int64]
    class_names: tuple[str, ...]
