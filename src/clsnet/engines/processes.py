"""Processes on this machine; nothing to install, and a killed process is replaced."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from clsnet.arrays.threads import threads_of_children
from clsnet.engines.parts import Batch, Read, Summing, some, total
from clsnet.errors import ClsnetError
from clsnet.estimator import CLSNet
from clsnet.sums import Sums

DEATHS = 3  # of workers in a row without a finished shard between them

_summing: Summing | None = None  # of a worker


def as_batch(shard: Batch) -> list[Batch]:
    """Take a shard as one batch."""
    return [shard]


def summarise(
    model: CLSNet, shards: Iterable[Any], read: Read = as_batch, workers: int | None = None
) -> Sums:
    """Return the sums of all shards, computed by several processes.

    Parameters
    ----------
    model
        The model whose extractor computes the features. It learns nothing here; see
        `CLSNet.learn_sums`.
    shards
        Anything that can be pickled, such as names of files. If a worker dies, its shard is
        repeated, so a shard should take seconds or minutes.
    read
        A function of a module that makes batches (X, y) of a shard, in the worker. Without it, each
        shard is a batch.
    workers
        Number of processes; by default one per core.

    Examples
    --------
    >>> import numpy as np
    >>> from clsnet import CLSNet
    >>> from clsnet.engines import processes
    >>> X, y = np.random.default_rng(0).normal(size=(200, 5)), np.arange(200) % 3
    >>> shards = [(X[i::4], y[i::4]) for i in range(4)]
    >>> model = CLSNet(groups=1)
    >>> model.learn_sums(processes.summarise(model, shards, workers=1)).classes_
    array([0, 1, 2])
    """
    try:
        pickle.dumps(read)
    except (AttributeError, TypeError, pickle.PicklingError):
        raise ClsnetError(
            "read cannot be sent to other processes; make it a function of a module."
        ) from None
    n_workers = workers or os.cpu_count() or 1
    return some(total(_summed(Summing(model, read), list(shards), n_workers)))


def _summed(summing: Summing, shards: Sequence[Any], n_workers: int) -> Iterator[Sums | None]:
    """Yield the sums of shards as they come; what a dead worker had is handed out again."""
    left, deaths = dict(enumerate(shards)), 0
    while left:
        try:
            for number, found in _finished(summing, dict(left), min(n_workers, len(left))):
                del left[number]
                deaths = 0
                yield found
        except BrokenProcessPool:
            deaths += 1
            if deaths > DEATHS:
                raise ClsnetError(
                    f"workers died {deaths} times in a row, with {len(left)} shards left; do "
                    "they have enough memory?"
                ) from None


def _finished(
    summing: Summing, shards: Mapping[int, Any], n_workers: int
) -> Iterator[tuple[int, Sums | None]]:
    """Yield the numbers of shards and their sums, until all are there or a worker dies."""
    pool = _pool(summing, n_workers)
    waiting: dict[Future[Sums | None], int] = {}
    try:
        for number, shard in shards.items():
            waiting[pool.submit(_sums_of, shard)] = number
            while len(waiting) >= 2 * n_workers:  # else finished sums would fill the memory
                yield from _taken(waiting)
        while waiting:
            yield from _taken(waiting)
    finally:
        pool.shutdown(cancel_futures=True)


def _taken(waiting: dict[Future[Sums | None], int]) -> Iterator[tuple[int, Sums | None]]:
    for done in wait(waiting, return_when=FIRST_COMPLETED).done:
        yield waiting.pop(done), done.result()


def _pool(summing: Summing, n_workers: int) -> ProcessPoolExecutor:
    with threads_of_children(max(1, (os.cpu_count() or 1) // n_workers)):
        pool = ProcessPoolExecutor(
            n_workers, multiprocessing.get_context("spawn"), _begin, (summing,)
        )
        for _ in range(n_workers):  # a worker starts with a task, and reads its threads then
            pool.submit(os.getpid)
    return pool


def _begin(summing: Summing) -> None:
    global _summing
    _summing = summing


def _sums_of(shard: Any) -> Sums | None:
    assert _summing is not None
    return _summing(shard)
