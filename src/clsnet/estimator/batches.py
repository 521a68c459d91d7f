"""Batches as users give them, checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from clsnet.errors import ClsnetError
from clsnet.estimator.labels import as_labels, same_kind
from clsnet.estimator.samples import as_samples
from clsnet.estimator.weights import (
    as_weights,
    counting,
    refuse_no_weight,
    refuse_other_names,
    weighted,
)
from clsnet.extractor.batches import LabelledSamples, peek
from clsnet.extractor.extractor import FIT_SAMPLES

if TYPE_CHECKING:
    from clsnet.estimator.clsnet import CLSNet


def checked(model: CLSNet, batches: Iterable[Sequence[Any]]) -> Iterator[LabelledSamples]:
    """Yield batches for a model, with the weights of samples and classes."""

    def valid() -> Iterator[LabelledSamples]:
        first = np.array([])
        for batch in batches:
            X, y, weights = _checked(model, batch)
            same_kind(first, y)
            first = y[:1]
            yield X, y, weights

    wanted = None if model.retain == "classes" else model.class_weight
    return weighted(valid(), wanted, model.model_.classes)


def first_samples(
    model: CLSNet, batches: Iterable[Sequence[Any]]
) -> tuple[np.ndarray, Iterable[Sequence[Any]]]:
    """Return samples that an extractor can be fitted to, and all batches."""
    sample, batches = peek(batches, FIT_SAMPLES, lambda batch: counting(_checked(model, batch))[0])
    refuse_no_weight(len(sample))
    return sample, batches


def _checked(model: CLSNet, batch: Sequence[Any]) -> LabelledSamples:
    if len(batch) not in (2, 3):
        raise ClsnetError("a batch is a pair (X, y), or (X, y, sample_weight).")
    X, y, *weights = batch
    X = as_samples(model, X, reset=not hasattr(model, "sample_shape_"))
    y = as_labels(y)
    check_consistent_length(X, y)
    if hasattr(model, "model_"):
        same_kind(model.classes_, y)
    refuse_other_names(model.class_weight, y)
    return X, y, as_weights(weights[0] if weights else None, len(y))
