"""What workers of every engine read in these tests; one of them may be killed."""

import os
import signal
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

X, Y = load_digits(return_X_y=True)
N_PARTS = 6
OPTIONS = {"groups": 2, "group_size": 10, "ridge": 1e-3}


class Reader:
    """Batches of some rows; a worker that gets to the row `deadly` is killed, `times` times."""

    def __init__(self, folder: Path, deadly: int = -1, times: int = 1) -> None:
        self.folder, self.deadly, self.times = folder, deadly, times

    def __call__(self, rows):
        if isinstance(rows, dict):  # a block of Ray
            rows = rows["row"]
        elif hasattr(rows, "columns"):  # a data frame
            rows = rows["row"].to_numpy()
        rows = np.asarray(rows, dtype=int)
        for some in np.array_split(rows, 3):
            if self.deadly in some:
                self._die()
            if len(some):
                yield X[some], Y[some]

    def _die(self) -> None:
        for number in range(self.times):
            try:
                (self.folder / f"died-{number}").touch(exist_ok=False)
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)

    @property
    def deaths(self) -> int:
        return len(list(self.folder.glob("died-*")))
