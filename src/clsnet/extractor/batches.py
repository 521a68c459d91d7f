"""Streams of samples, cut and joined."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np

from clsnet.errors import ClsnetError

T = TypeVar("T")
LabelledSamples = tuple[np.ndarray, np.ndarray]


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
    for X, y in batches:
        start = 0
        while len(y) - start >= size - n_waiting:
            stop = start + size - n_waiting
            yield _join([*waiting, (X[start:stop], y[start:stop])])
            waiting, n_waiting, start = [], 0, stop
        if start < len(y):
            waiting.append((X[start:], y[start:]))
            n_waiting += len(y) - start
    if waiting:
        yield _join(waiting)


def _join(parts: list[LabelledSamples]) -> LabelledSamples:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])
