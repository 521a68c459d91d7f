"""Digits: the small handwritten digits inside scikit-learn."""

from pathlib import Path

import numpy as np

from clsnet.data.dataset import Dataset
from clsnet.data.registry import DatasetInfo, Report, register

N_TRAIN, N_TEST = 1437, 360


def load(root: Path | None, report: Report) -> Dataset:
    """Load the 8x8 images, split once and for all, each class in proportion.

    The values stay scikit-learn's own, 0 to 16, as `uint8`.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    digits = load_digits()
    X_train, X_test, y_train, y_test = train_test_split(
        digits.images.astype(np.uint8),
        digits.target.astype(np.int64),
        train_size=N_TRAIN,
        test_size=N_TEST,
        stratify=digits.target,
        random_state=0,
    )
    return Dataset("Digits", X_train, y_train, X_test, y_test, tuple("0123456789"))


register(
    DatasetInfo(
        name="Digits",
        description="handwritten digits, 8x8, grey values 0 to 16",
        n_classes=10,
        n_train=N_TRAIN,
        n_test=N_TEST,
        source="inside scikit-learn",
        available=lambda: True,
        load=load,
    )
)
