"""Streams of samples, cut and joined."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np

from clsnet.errors import ClsnetError

T = TypeVar("T")
LabelledSamples = tuple[np.ndarray, ...]  # samples, their labels, and weights if there are any


def peek(
    batches: Iterable[T], size: int, samples: Callable[[T], np.ndarray]
) -> tuple[np.ndarray, Iterable[T]]:
    """Look at the batches that hold the first `size` samples; return these and all batches.

    Examples
    --------
    >>> head, stream = peek(iter([[1, 2], [3, 4], [5]]), 3, np.array)
    >>> head, list(stream)
    (array([1, 2, 3, 4]), [[1, 2], [3, 4], [5]])
    """
    source = iter(batches)
    taken: list[T] = []
    found: list[np.ndarray] = []
    while sum(map(len, found)) < size and (batch := next(source, None)) is not None:
        taken.append(batch)
        found.append(samples(batch))
    if not found:
        raise ClsnetError("this task is empty: there is no batch to learn from.")
    head = found[0] if len(found) == 1 else np.concatenate(found)
    return head, itertools.chain(taken, source) if source is batches else batches


def rebatch(batches: Iterable[LabelledSamples], size: int) -> Iterator[LabelledSamples]:
    """Cut and join batches to `size` samples each; the last may have fewer.

    A slice of one long array is a view, not a copy.

    Examples
    --------
    >>> stream = [(np.arange(3), np.arange(3)), (np.arange(3, 5), np.arange(3, 5))]
    >>> [X.tolist() for X, _ in rebatch(stream, 2)]
    [[0, 1], [2, 3], [4]]
    """
    waiting: list[LabelledSamples] = []
    n_waiting = 0
    for batch in batches:
        start, n = 0, len(batch[1])
        while n - start >= size - n_waiting:
            stop = start + size - n_waiting
            yield _join([*waiting, rows_of(batch, slice(start, stop))])
            waiting, n_waiting, start = [], 0, stop
        if start < n:
            waiting.append(rows_of(batch, slice(start, None)))
            n_waiting += n - start
    if waiting:
        yield _join(waiting)


def rows_of(batch: LabelledSamples, rows: slice | np.ndarray) -> LabelledSamples:
    """Return some rows of a batch."""
    return tuple(part[rows] for part in batch)


def _join(parts: list[LabelledSamples]) -> LabelledSamples:
    if len(parts) == 1:
        return parts[0]
    return tuple(map(np.concatenate, zip(*parts, strict=True)))
