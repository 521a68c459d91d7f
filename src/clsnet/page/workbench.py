"""The model that a server works on: read once for many questions, changed by one at a time."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
import numpy as np

from clsnet.errors import ClsnetError
from clsnet.extractor.runtime.threads import n_threads
from clsnet.model import Model
from clsnet.page.refusals import Refused, told
from clsnet.page.scratch import Scratch
from clsnet.photos.predicting import Answering, opened

Result = TypeVar("Result")
SPARE = 2  # threads beside one per processor, to keep these busy
MMAP_THRESHOLD, ARENA_MAX = -3, -8  # as malloc.h calls them
Accuracies = dict[tuple[int, int], float]


class Workbench:
    """What all requests share.

    Parameters
    ----------
    model
        The file of the model, which need not exist yet.
    teach
        Whether it may be changed.
    allow
        Networks that the file may refer to; see `clsnet.load`.
    """

    def __init__(self, model: Path, teach: bool = True, allow: Collection[str] = ()) -> None:
        self.model, self.teach, self.allow = model, teach, allow
        self.scratch = Scratch()
        self.accuracies: Accuracies = {}
        """Estimated accuracies seen so far, by the numbers of photos and classes."""
        self._held: tuple[tuple[int, ...], Answering] | None = None
        self._reading = threading.Lock()
        self._readers = anyio.CapacityLimiter(n_threads() + SPARE)
        self._writer = anyio.CapacityLimiter(1)

    @property
    def changing(self) -> bool:
        """Whether the model is being changed from here."""
        return self._writer.borrowed_tokens > 0

    async def read(
        self, work: Callable[[], Result], names: Mapping[Path, str] | None = None
    ) -> Result:
        """Do something in a thread that leaves the model as it is.

        Parameters
        ----------
        work
            What to do.
        names
            What uploaded files are called.
        """
        return await anyio.to_thread.run_sync(self._telling(work, names), limiter=self._readers)

    async def change(
        self, work: Callable[[], Result], names: Mapping[Path, str] | None = None
    ) -> Result:
        """Do something in a thread that changes the model; whoever comes later waits."""
        self.check_teaching()
        try:
            return await anyio.to_thread.run_sync(self._telling(work, names), limiter=self._writer)
        finally:
            give_memory_back()

    def check_teaching(self) -> None:
        """Refuse changes, if none are allowed."""
        if not self.teach:
            raise Refused(403, "read-only", "This server only answers; --teach lets it learn.")

    def answering(self) -> Answering:
        """Return the model as it is now; it is read again only if its file has changed."""
        held, signature = self._held, self._signature()
        if held is not None and held[0] == signature:
            return held[1]
        with self._reading:
            signature = self._signature()
            if self._held is None or self._held[0] != signature:
                taught = opened(self.model, self.allow)
                if self._held is not None:
                    taught = with_compiled_network(taught, self._held[1].taught)
                self._held = signature, Answering(taught)
            return self._held[1]

    def warm_up(self) -> None:
        """Read the model before the first question comes, if there is one."""
        with suppress(ClsnetError):  # whoever asks will be told
            taught = self.answering().taught
            taught.extractor.transform(np.zeros((1, *taught.sample_shape), np.uint8))

    def close(self) -> None:
        """Remove uploads."""
        self.scratch.close()

    def _telling(
        self, work: Callable[[], Result], names: Mapping[Path, str] | None
    ) -> Callable[[], Result]:
        def tell() -> Result:
            try:
                return work()
            except ClsnetError as error:
                raise told(error, self.model, names) from error

        return tell

    def _signature(self) -> tuple[int, ...]:
        try:
            found = self.model.stat()
        except OSError:
            return ()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def use_little_memory() -> None:
    """Let the memory of large arrays return to the system as soon as they are gone.

    glibc would keep more and more of it for later ones, in several pools.
    """
    with suppress(AttributeError, OSError, TypeError):  # other systems have no such function
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_THRESHOLD, 2**20)
        library.mallopt(ARENA_MAX, 2)


def give_memory_back() -> None:
    """Return to the system what was used and is free now; glibc would keep it."""
    with suppress(AttributeError, OSError, TypeError):  # other systems have no such function
        ctypes.CDLL(None).malloc_trim(0)


def with_compiled_network(model: Model, before: Model) -> Model:
    """Return a model with the extractor of the version before, if it is the same."""
    same = not model.extractor.difference(before.extractor)
    return replace(model, extractor=before.extractor) if same else model
