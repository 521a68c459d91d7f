"""Two processes of one thread each over one process of one thread, with the same data."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

WORKER = Path(__file__).with_name("ranks_worker.py")
ROUNDS = 2


def seconds(n_ranks: int) -> float:
    """Return what the worker says it took to learn; the start of processes does not count."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(n_ranks)]
    done = subprocess.run(
        [*command, str(WORKER)],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
    )
    return float(done.stdout.strip().splitlines()[-1])


def run() -> dict[str, Any]:
    ratios = [seconds(1) / seconds(2) for _ in range(ROUNDS)]
    found = statistics.median(ratios)
    print(f"two processes: {found:.2f} times as fast as one")
    return {"two_ranks_speedup": found}


def plot(found: dict[str, Any], draw: Any) -> None:
    speedups = {"one process": 1.0, "two processes": found["two_ranks_speedup"]}
    draw.bars("ranks", "Times as fast as one process of one thread", speedups, limit=2.0)


if __name__ == "__main__":
    run()
