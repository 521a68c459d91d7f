"""How many threads BLAS uses."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_users = 0
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let the BLAS of NumPy and that of SciPy use one thread each, in the whole process.

    A product then rounds alike on every number of cores. Where other work wants the cores, small
    matrices take a tenth of the time: threads of BLAS wait for each other, and spin while they do.
    """
    global _users, _limit
    with _lock:
        if _users == 0:
            _let_any_thread_limit()
            _limit = _blas().limit(limits=1)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _let_any_thread_limit()
                _limit.restore_original_limits()
                _let_any_thread_limit()


def _let_any_thread_limit() -> None:
    """Release OpenBLAS from the thread whose limits threadpoolctl obeys, that of earlier limits."""
    for library in _blas().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):  # since threadpoolctl 3.7
            library.clear_controlling_thread(force=True)


@functools.cache
def _blas() -> Any:
    """Return what controls both."""
    import scipy.linalg.blas  # noqa: F401 - one that is loaded later would not be found
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController().select(user_api="blas")
