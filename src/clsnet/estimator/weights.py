"""Weights of samples and of classes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from clsnet.classifier.class_weights import ClassWeight, class_weights
from clsnet.classifier.sums import Label
from clsnet.errors import ClsnetError
from clsnet.extractor.batches import LabelledSamples, rows_of

LEAST = 1e-300  # a weight below it is lost in products, and counts as 0


def as_weights(sample_weight: Any, n_samples: int) -> np.ndarray:
    """Return one weight for each sample, given a number, an array, or None for 1.

    Examples
    --------
    >>> as_weights(None, 2), as_weights([1, 3], 2)
    (array([1., 1.]), array([1., 3.]))
    >>> as_weights([1, -3], 2)
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: sample_weight holds a negative weight, -3.0; use 0 or more.
    """
    try:
        weights = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ClsnetError("sample_weight holds something that is not a number.") from None
    if weights.ndim == 0:
        weights = np.full(n_samples, weights)
    if weights.ndim > 1:
        raise ClsnetError(
            f"sample_weight has shape {weights.shape}; give a 1d array, one weight per sample."
        )
    if len(weights) != n_samples:
        raise ClsnetError(
            f"{len(weights)} weights given for {n_samples} samples; give one for each."
        )
    if not np.isfinite(weights).all():
        raise ClsnetError("sample_weight holds NaN or infinite values; replace them.")
    if (weights < 0).any():
        raise ClsnetError(f"sample_weight holds a negative weight, {weights.min()}; use 0 or more.")
    return np.where(weights < LEAST, 0.0, weights)


def weighted(
    batches: Iterable[LabelledSamples], wanted: ClassWeight, known: Collection[Label]
) -> Iterator[LabelledSamples]:
    """Yield the samples with positive weight, and their weights times those of their classes.

    Parameters
    ----------
    batches
        Samples, labels and weights.
    wanted
        Weights of classes; ``"balanced"`` looks at one batch at a time.
    known
        Classes that need no sample here. Any other needs one that counts.

    Examples
    --------
    >>> y, weights = np.array(["a", "a", "b", "b"]), np.array([1.0, 1.0, 1.0, 0.0])
    >>> [(X, y, found)] = weighted([(np.eye(4), y, weights)], "balanced", ())
    >>> y.tolist(), found.tolist()
    (['a', 'a', 'b'], [0.75, 0.75, 1.5])
    """
    there: set[Label] = set()
    seen: set[Label] = set()
    for batch in batches:
        X, y, weights = counting(batch)
        there.update(np.unique(batch[1]).tolist())
        labels, codes = np.unique(y, return_inverse=True)
        seen.update(labels.tolist())
        if wanted is not None and len(y):
            sizes = dict(zip(labels.tolist(), np.bincount(codes, weights).tolist(), strict=True))
            weights = weights * np.array(list(class_weights(wanted, sizes).values()))[codes]
        yield X, y, weights
    refuse_no_weight(len(seen) or not there)
    for label in sorted(there - seen - set(known)):  # type: ignore[type-var]
        raise ClsnetError(
            f"all samples of class {label!r} have weight 0; "
            "give one of them a weight above 0, or leave the class out."
        )


def counting(batch: LabelledSamples) -> LabelledSamples:
    """Return the samples of weights above 0."""
    counts = batch[2] > 0
    return batch if counts.all() else rows_of(batch, np.flatnonzero(counts))


def refuse_no_weight(n_counting: int) -> None:
    """Refuse a task in which no sample counts."""
    if not n_counting:
        raise ClsnetError("all sample weights are zero: there is nothing to learn.")


def refuse_other_names(wanted: ClassWeight, y: np.ndarray) -> None:
    """Refuse weights of classes whose names cannot be labels: text beside numbers."""
    if not isinstance(wanted, Mapping):
        return
    text = y.dtype.kind == "U"
    if any(isinstance(label, str) != text for label in wanted):
        kinds = ("numbers", "text") if text else ("text", "numbers")
        raise ClsnetError(f"class_weight names classes by {kinds[0]}, but labels are {kinds[1]}.")
