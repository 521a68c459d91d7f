"""Peak memory of learning ten times the data from a generator."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np

from clsnet import CLSNet
from clsnet.evaluation import usage

SAMPLES, TIMES, SIZE, ROWS = 20_000, 10, 256, 2_000


def learn(n_samples: int) -> float:
    """Learn from a generator of samples that nobody keeps; return the peak memory in MB."""
    random = np.random.default_rng(0)
    batches = (
        (random.standard_normal((ROWS, SIZE), dtype=np.float32), random.integers(0, 10, ROWS))
        for _ in range(n_samples // ROWS)
    )
    CLSNet(device="cpu").learn(batches).consolidate()
    return usage.peak_mb()


def peak_mb(n_samples: int) -> float:
    """Return the peak memory of a process of its own."""
    command = [sys.executable, __file__, str(n_samples)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


def run() -> dict[str, Any]:
    peaks = {n: peak_mb(n) for n in (SAMPLES, TIMES * SAMPLES)}
    found = peaks[TIMES * SAMPLES] / peaks[SAMPLES]
    print(f"peak memory of {TIMES} times the data over that of the data: {found:.3f}")
    return {"stream_memory_ratio": found, "stream_peak_mb": peaks}


def plot(found: dict[str, Any], draw: Any) -> None:
    draw.bars(
        "streaming",
        "Peak memory in MB, learning from a generator",
        {f"{int(n):,} samples": value for n, value in found["stream_peak_mb"].items()},
    )


if __name__ == "__main__":
    print(learn(int(sys.argv[1])))
