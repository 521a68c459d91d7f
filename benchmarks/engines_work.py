"""What workers of all engines do in `engines.py`: shards drawn from their numbers."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

OPTIONS = {"groups": 30, "group_size": 30, "ridge": 1e-3}
SHARDS = list(range(12))
ROWS, COLUMNS, CLASSES = 4096, 40, 10


def shard(number: int, rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    centres = np.random.default_rng(0).normal(size=(CLASSES, COLUMNS))
    random = np.random.default_rng(number + 1)
    y = random.integers(0, CLASSES, rows)
    return centres[y] + random.normal(size=(rows, COLUMNS)), y


class Reader:
    """Batches of shards; the first worker that gets to shard `deadly` is killed there."""

    def __init__(self, rows: int = ROWS, deadly: int = -1, marker: str = "") -> None:
        self.rows, self.deadly, self.marker = rows, deadly, marker

    def __call__(self, part: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the batches of a part."""
        numbers = part["shard"] if isinstance(part, dict) else part
        for number in np.atleast_1d(numbers).tolist():
            if number == self.deadly and not Path(self.marker).exists():
                Path(self.marker).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield shard(number, self.rows)


def main() -> None:
    """Under torchrun: sum up all shards, and write the sums."""
    from clsnet import CLSNet
    from clsnet.arrays.ranks import joined, rank
    from clsnet.engines import torchrun

    folder, rows, deadly = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    read = Reader(rows, deadly, str(folder / "died"))
    with joined():
        sums = torchrun.summarise(CLSNet(**OPTIONS), SHARDS, read, folder / "shards")
        if rank() == 0:
            sums.save(folder / "all.sums")


if __name__ == "__main__":
    main()
