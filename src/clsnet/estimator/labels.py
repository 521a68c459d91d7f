"""Labels: ints or strings, never both."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from clsnet.errors import ClsnetError


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
        y = np.array(y, dtype=object) if any(isinstance(v, str) for v in y) else np.asarray(y)
    y = np.asarray(column_or_1d(y, warn=True))
    if y.dtype == object:
        if len({isinstance(value, str) for value in y}) > 1:
            raise ClsnetError("labels mix text and numbers; use one kind for all.")
        y = np.array(y.tolist())
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return np.asarray(y)


def same_kind(classes: np.ndarray, y: np.ndarray) -> None:
    """Refuse labels of another kind than those learned before."""
    if len(classes) and (classes.dtype.kind == "U") != (y.dtype.kind == "U"):
        kinds = ["text" if a.dtype.kind == "U" else "numbers" for a in (classes, y)]
        raise ClsnetError(f"the labels learned so far are {kinds[0]}, but these are {kinds[1]}.")
