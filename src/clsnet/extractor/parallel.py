"""Work on blocks of arrays in several threads, each with a BLAS of one thread.

NumPy lets other threads run while it computes, but most of its functions use one core, so the
threads are ours. BLAS uses one thread within them: a matrix product then rounds alike however many
threads there are.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from clsnet.extractor.runtime.threads import n_threads

Block = TypeVar("Block")

_turn = threading.Lock()


def in_threads(work: Callable[[Block], None], blocks: Sequence[Block]) -> None:
    """Do the work on every block; the first error is raised.

    One call at a time uses the cores, others wait for it. So the work must not call it again.

    Examples
    --------
    >>> squares = [0] * 4
    >>> in_threads(lambda i: squares.__setitem__(i, i * i), range(4))
    >>> squares
    [0, 1, 4, 9]
    """
    threads = min(n_threads(), len(blocks))
    with _turn, _one_blas_thread():
        if threads < 2:
            for block in blocks:
                work(block)
            return
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(threads)
        try:
            for _ in pool.map(work, blocks):
                pass
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; the limit holds for all threads of the process."""
    _let_any_thread_limit()
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        _let_any_thread_limit()


def _let_any_thread_limit() -> None:
    """Release OpenBLAS from the thread whose limits threadpoolctl obeys, that of earlier limits."""
    for library in _blas().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):  # since threadpoolctl 3.7
            library.clear_controlling_thread(force=True)


@functools.cache
def _blas() -> Any:
    """Return what controls the BLAS of NumPy."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController().select(user_api="blas")
