"""The number of threads that BLAS uses."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_users = 0
_limits: dict[bool, Any] = {}
"""What restores the numbers of threads, by whether SciPy's was there already."""


@contextmanager
def one_blas_thread(scipy: bool = True) -> Iterator[None]:
    """Let the BLAS of NumPy and that of SciPy use one thread each, in the whole process.

    Products then round the same way on any number of cores. On a busy machine, small matrices take
    a tenth of the time, because threads of BLAS spin while they wait for each other.

    Parameters
    ----------
    scipy
        Whether the BLAS of SciPy is needed. If not, SciPy is not imported.
    """
    global _users
    if scipy:
        from scipy.linalg import blas  # noqa: F401 - one that is loaded later would not be found
    with _lock:
        _limit()
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _restore()


def _limit() -> None:
    """Limit what is loaded now, unless it is already."""
    with_scipy = "scipy.linalg.blas" in sys.modules
    if with_scipy not in _limits:
        _let_any_thread_limit(with_scipy)
        _limits[with_scipy] = _blas(with_scipy).limit(limits=1)


def _restore() -> None:
    """Take the limits back, the last one first."""
    while _limits:
        with_scipy, limit = _limits.popitem()
        _let_any_thread_limit(with_scipy)
        limit.restore_original_limits()
        _let_any_thread_limit(with_scipy)


def _let_any_thread_limit(with_scipy: bool) -> None:
    """Release OpenBLAS from the thread whose limits threadpoolctl obeys, that of earlier limits."""
    for library in _blas(with_scipy).lib_controllers:
        if hasattr(library, "clear_controlling_thread"):  # since threadpoolctl 3.7
            library.clear_controlling_thread(force=True)


@functools.cache
def _blas(with_scipy: bool) -> Any:
    """Return what controls all that is loaded."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController().select(user_api="blas")
