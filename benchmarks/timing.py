"""Times of things that take turns, since other work on the machine slows all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if GPU else "cpu")


def seconds(run: Callable[[], Any]) -> float:
    if GPU:
        torch.cuda.synchronize()
    start = time.perf_counter()
    run()
    if GPU:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def alternating(
    runs: dict[str, Callable[[], Any]], rounds: int = 5, warm: bool = True
) -> dict[str, list[float]]:
    """Return the seconds of every run in every round, after one that does not count if `warm`."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + warm):
        for name, run in runs.items():
            took = seconds(run)
            if number >= warm:
                times[name].append(took)
    return times


def ratio(over: Sequence[float], under: Sequence[float]) -> float:
    """Return the median over rounds of one time over another of the same round."""
    return statistics.median(a / b for a, b in zip(over, under, strict=True))


def median(times: dict[str, list[float]]) -> dict[str, float]:
    return {name: statistics.median(values) for name, values in times.items()}


def exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Return p of the law ``time = c * size^p`` that fits best."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def features(n: int, dimension: int, n_classes: int = 10, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Return random ReLU features of Gaussian classes in 100 dimensions, float32, and labels."""
    fixed = torch.Generator().manual_seed(0)
    weights = torch.randn(100, dimension, generator=fixed) / 10
    centres = torch.randn(n_classes, 100, generator=fixed) * 0.3
    random = torch.Generator().manual_seed(seed)
    y = torch.randint(0, n_classes, (n,), generator=random)
    x = centres[y] + torch.randn(n, 100, generator=random)
    return torch.relu(x.to(DEVICE) @ weights.to(DEVICE)), y.numpy()
