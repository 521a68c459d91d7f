"""Computing the sums of one part of the data, in any process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from sklearn.base import clone

from clsnet.errors import ClsnetError
from clsnet.estimator import CLSNet
from clsnet.sums import Sums

Batch = Sequence[Any]  # (X, y) or (X, y, sample_weight)
Read = Callable[[Any], Iterable[Batch]]
NOT_PREPARED = (
    "the extractor of this model is fitted to samples, and each worker would fit another one; call "
    "model.prepare(X) first."
)


class Summing:
    """A callable that returns the sums of one part of the data; it can be pickled for workers.

    Parameters
    ----------
    model
        A model; its extractor and options are sent to workers, and nothing that it has learned.
    read
        Makes batches of a part.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.eye(4), np.arange(4)
    >>> Summing(CLSNet(groups=1), lambda rows: [(X[rows], y[rows])])(slice(2))
    Sums(2 samples of 2 classes, 35 features)
    """

    def __init__(self, model: CLSNet, read: Read) -> None:
        self.is_ready = hasattr(model, "model_")
        self.model = model.twin() if self.is_ready else clone(model)
        self.read = read

    def __call__(self, part: Any) -> Sums | None:
        """Return the sums of a part, or None if there is no batch in it."""
        return self.of_batches(iter(self.read(part)))

    def of_batches(self, batches: Iterator[Batch]) -> Sums | None:
        """Return the sums of batches, or None if there are none."""
        first = next(batches, None)
        if first is None:
            return None
        sums = self.model.summarise(itertools.chain([first], batches))
        if self.model.extractor_.keeps_task and not self.is_ready:
            raise ClsnetError(NOT_PREPARED)
        return sums


def total(parts: Iterable[Sums | None]) -> Sums | None:
    """Return the sums of all parts, or None if none of them holds anything."""
    found: Sums | None = None
    for part in parts:
        if part is not None:
            found = part if found is None else found + part
    return found


def some(found: Sums | None) -> Sums:
    """Return sums, or say that there are none."""
    if found is None:
        raise ClsnetError("there is no batch to sum up: all parts of the data are empty.")
    return found
