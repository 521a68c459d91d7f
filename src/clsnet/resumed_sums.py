"""Sums of the processes of one run: saved as they grow, gone on with, and exchanged."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from clsnet.arrays.ranks import gathered_arrays
from clsnet.errors import ClsnetError
from clsnet.extractor.batches import LabelledSamples
from clsnet.sums import Sums

SHARD = 16  # batches that a process of torchrun --max-restarts sums up before it saves


class SavedSums:
    """The sums of what a process has finished so far, and how many pieces these are.

    Parameters
    ----------
    place
        The beginning of the file's name.
    """

    def __init__(self, place: Path) -> None:
        self.folder, self.start = place.parent, f"{place.name}-"

    def read(self) -> tuple[int, Sums | None]:
        """Return how many pieces are finished, and their sums."""
        files = {int(file.stem.removeprefix(self.start)): file for file in self._files()}
        done = max(files, default=0)
        return done, Sums.load(files[done]) if done else None

    def write(self, done: int, sums: Sums | None) -> None:
        """Save the sums of so many pieces; none are saved as long as there are none."""
        if sums is None:
            return
        sums.save(self.folder / f"{self.start}{done}.sums")
        for file in self._files():
            if file.stem != f"{self.start}{done}":
                file.unlink()

    def _files(self) -> list[Path]:
        found = self.folder.glob(f"{self.start}*.sums")
        return [file for file in found if file.stem.removeprefix(self.start).isdecimal()]


def gathered_sums(mine: Sums | None) -> list[Sums | None]:
    """Return the sums of every process; they travel in their checked form."""
    data = np.frombuffer(b"" if mine is None else mine.to_bytes(), np.uint8)
    parts = (part.tobytes() for part in gathered_arrays(data))
    return [Sums.from_bytes(part) if part else None for part in parts]


def resumed_sums(
    batches: Iterator[LabelledSamples],
    saved: SavedSums,
    summed: Callable[[Iterable[LabelledSamples]], Sums | None],
) -> Sums:
    """Return the sums of all processes, each of which goes on from what it has saved.

    Parameters
    ----------
    batches
        All batches of a task.
    saved
        What this process has finished of them.
    summed
        Returns the sums of what is this process's share of some batches, if it has one.
    """
    done, found = saved.read()
    rest = itertools.islice(batches, done, None)
    while (first := next(rest, None)) is not None:
        some = itertools.chain([first], itertools.islice(rest, SHARD - 1))
        if (sums := summed(some)) is not None:
            found = sums if found is None else found + sums
        done += SHARD
        saved.write(done, found)
    every = [one for one in gathered_sums(found) if one is not None]
    if not every:
        raise ClsnetError("this task is empty: there is no batch to learn from.")
    return functools.reduce(operator.add, every)
