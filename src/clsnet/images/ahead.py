"""Decoding the next batches of images while the current one is used (prefetching)."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import numpy as np

from clsnet.images import budget
from clsnet.images.lazy import Images

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

AHEAD = 3
MANY = 500  # images that are worth a process

_images: Images | None = None


def read_ahead(X: np.ndarray | Images, parts: Sequence[slice | np.ndarray]) -> Iterator[np.ndarray]:
    """Yield the samples of each part as an array; memory holds a few parts.

    Many small images are decoded in processes, because threads would wait for each other.

    Parameters
    ----------
    X
        An array, sparse rows, or images on disk.
    parts
        Rows of each part.

    Examples
    --------
    >>> [part.tolist() for part in read_ahead(np.arange(5), [slice(0, 3), slice(3, 5)])]
    [[0, 1, 2], [3, 4]]
    """
    if not isinstance(X, Images):
        yield from (np.asarray(X[part]) for part in parts)
        return
    pool, at_once = _pool(X)
    waiting: deque[Future[np.ndarray]] = deque()
    read_all = False
    try:
        for part in parts:
            waiting.append(pool.submit(_decode, None if at_once > 1 else X, part))
            if len(waiting) > max(AHEAD, at_once):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        read_all = True
    finally:
        pool.shutdown(wait=not read_all, cancel_futures=True)


def _pool(X: Images) -> tuple[Executor, int]:
    """Return what decodes the images, and how many parts it decodes at a time."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

    cores = min(os.cpu_count() or 1, len(X) // MANY)
    forks = "fork" in multiprocessing.get_all_start_methods()
    if multiprocessing.current_process().daemon:  # which may have no children
        forks = False
    if not (X.small and cores > 1 and forks):
        return ThreadPoolExecutor(1), 1
    # A fork shares the list of images; its children touch nothing but this.
    context = multiprocessing.get_context("fork")
    given = (X, cores, context.Lock())
    return ProcessPoolExecutor(cores, context, initializer=_begin, initargs=given), cores


def _begin(images: Images, processes: int, alone: AbstractContextManager[object]) -> None:
    """Take the images over, leave Ctrl-C to the parent, and do not outlive it."""
    global _images
    _images = images
    budget.share(processes, alone)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    import multiprocessing

    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _decode(X: Images | None, part: slice | np.ndarray) -> np.ndarray:
    images = X or _images
    assert images is not None
    return np.asarray(images[part])
