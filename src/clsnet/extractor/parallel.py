"""Work on blocks of arrays in several threads, each with NumPy's BLAS in one thread.

NumPy lets other threads run while it computes, but most of its functions use one core, so the
threads are ours. BLAS uses one thread within them: a matrix product then rounds alike however many
threads there are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from clsnet.arrays.blas import one_blas_thread
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
    with _turn, one_blas_thread(scipy=False):
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
