"""Labels: ints or strings, never both."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from clsnet.errors import ClsnetError
from clsnet.storage.schema import LONGEST


def as_labels(y: Any) -> np.ndarray:
    """Return labels as a vector of numbers or of strings.

    Examples
    --------
    >>> as_labels(["cat", "dog"])
    array(['cat', 'dog'], dtype='<U3')
    >>> as_labels([1, "dog"])
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: labels mix text and numbers; use one kind for all.
    """
    if isinstance(y, (list, tuple)):
        kinds = {type(value) for value in y}
        y = np.array(y, dtype=object) if kinds <= {str, int} else np.asarray(y)
    y = np.asarray(column_or_1d(y, warn=True))
    if y.dtype == object:
        if len({isinstance(value, str) for value in y}) > 1:
            raise ClsnetError("labels mix text and numbers; use one kind for all.")
        y = label_array(y.tolist())
    if y.dtype.kind == "U" and len(max(y, key=len, default="")) > LONGEST:
        raise ClsnetError(f"a label has more than {LONGEST:,} letters; shorten it.")
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return np.asarray(y)


def label_array(labels: list[Any]) -> np.ndarray:
    r"""Return labels as an array in which different labels stay different.

    Examples
    --------
    >>> label_array([1, 2**63])
    array([                  1, 9223372036854775808], dtype=uint64)
    >>> label_array(["cat", "cat\0"])
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: label 'cat\x00' ends with a NUL, which NumPy drops; rename it.
    """
    for label in labels:
        if isinstance(label, str) and label.endswith("\0"):
            raise ClsnetError(f"label {label!r} ends with a NUL, which NumPy drops; rename it.")
    if labels and all(type(label) is int for label in labels) and max(labels) >= 2**63:
        if min(labels) < 0 or max(labels) >= 2**64:
            raise ClsnetError("labels are whole numbers of more than 64 bits; use smaller ones.")
        return np.array(labels, np.uint64)
    return np.array(labels)


def same_kind(classes: np.ndarray, y: np.ndarray) -> None:
    """Refuse labels of another kind than those learned before."""
    if len(classes) and (classes.dtype.kind == "U") != (y.dtype.kind == "U"):
        kinds = ["text" if a.dtype.kind == "U" else "numbers" for a in (classes, y)]
        raise ClsnetError(f"the labels learned so far are {kinds[0]}, but these are {kinds[1]}.")
