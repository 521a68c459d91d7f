"""A limit on the memory that all threads together use to read and decode images."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext


class Budget:
    """A number of bytes that threads share: who needs more than is left waits.

    Parameters
    ----------
    most
        The largest number of bytes in use at a time.
    alone
        A lock held by those who need all of it or more, shared by several processes.

    Examples
    --------
    >>> budget = Budget(100)
    >>> with budget.taken(60), budget.taken(40):
    ...     budget.left
    0
    """

    def __init__(self, most: int, alone: AbstractContextManager[object] | None = None) -> None:
        self.most = self.left = most
        self._alone = alone or nullcontext()
        self._freed = threading.Condition()

    @contextmanager
    def taken(self, n: int) -> Iterator[None]:
        """Wait for so many bytes, and return them at the end of the context."""
        share = min(n, self.most)
        with self._alone if n >= self.most else nullcontext():
            with self._freed:
                self._freed.wait_for(lambda: share <= self.left)
                self.left -= share
            try:
                yield
            finally:
                with self._freed:
                    self.left += share
                    self._freed.notify_all()


ENCODED, DECODED = 2**28, 2**30

_encoded, _decoded = Budget(ENCODED), Budget(DECODED)


def encoded(n: int) -> AbstractContextManager[None]:
    """Wait for memory for a file of so many bytes; ask for this before `decoded`, if for both."""
    return _encoded.taken(n)


def decoded(n: int) -> AbstractContextManager[None]:
    """Wait for memory to decode an image that takes so many bytes."""
    return _decoded.taken(n)


def share(processes: int, alone: AbstractContextManager[object] | None = None) -> None:
    """Take the part of one of several processes.

    Parameters
    ----------
    processes
        Their number.
    alone
        A lock of all processes.
    """
    global _encoded, _decoded
    _encoded, _decoded = Budget(ENCODED // processes), Budget(DECODED // processes, alone)


if hasattr(os, "register_at_fork"):  # what other threads hold is not held in a child
    os.register_at_fork(after_in_child=lambda: share(1))
