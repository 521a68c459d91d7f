"""Weights of classes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from clsnet.classifier.sums import Label
from clsnet.errors import ClsnetError

BALANCED = "balanced"
ClassWeight = str | Mapping[Label, float] | None


def class_weights(wanted: ClassWeight, sizes: Mapping[Label, float]) -> dict[Label, float]:
    """Return the weight of each class; classes that are not named have weight 1.

    Parameters
    ----------
    wanted
        A weight for some classes, or ``"balanced"``: all classes then count the same in sum, and
        together as much as before. None leaves them as they are.
    sizes
        Samples of each class, each as often as it weighs.

    Examples
    --------
    >>> class_weights("balanced", {"cat": 30, "dog": 10})
    {'cat': 0.66..., 'dog': 2.0}
    >>> class_weights({"dog": 5}, {"cat": 30, "dog": 10})
    {'cat': 1.0, 'dog': 5.0}
    """
    if wanted == BALANCED:
        share = sum(sizes.values()) / len(sizes)
        return {label: share / size for label, size in sizes.items()}
    given = wanted if isinstance(wanted, Mapping) else {}
    return {label: float(given.get(label, 1.0)) for label in sizes}


def refuse_bad(wanted: ClassWeight) -> None:
    """Refuse a class weight that is not a number above 0.

    Examples
    --------
    >>> refuse_bad({"cat": 1.0, "dog": 0})
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: class_weight of class 'dog' is 0: give a number above 0.
    """
    if not isinstance(wanted, Mapping):
        if wanted not in (None, BALANCED):
            raise ClsnetError(f'class_weight={wanted!r}: use None, "balanced" or a dict.')
        return
    for label, weight in wanted.items():
        number = isinstance(weight, int | float | np.integer | np.floating)
        if not number or not 0 < weight < np.inf:
            raise ClsnetError(
                f"class_weight of class {label!r} is {weight!r}: give a number above 0."
            )
