"""Digits: the small handwritten digits inside scikit-learn."""

from pathlib import Path

import numpy as np

from clsnet.data.dataset import Dataset
from clsnet.data.registry import DatasetInfo
from clsnet.images import Report


def load(root: Path | None, report: Report) -> Dataset:
    """Load the 8x8 images in a fixed, stratified split.

    The values stay scikit-learn's own, 0 to 16, as `uint8`.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    digits = load_digits()
    X_train, X_test, y_train, y_test = train_test_split(
        digits.images.astype(np.uint8),
        digits.target.astype(np.int64),
        train_size=DATASET.n_train,
        test_size=DATASET.n_test,
        stratify=digits.target,
        random_state=0,
    )
    return Dataset("Digits", X_train, y_train, X_test, y_test, tuple("0123456789"))


def available() -> bool:
    """Tell whether all files are on this machine."""
    return True


DATASET = DatasetInfo(
    name="Digits",
    module=__name__,
    description="handwritten digits, 8x8, grey values 0 to 16",
    n_classes=10,
    n_train=1437,
    n_test=360,
    source="inside scikit-learn",
)
