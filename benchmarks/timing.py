"""Times of things that take turns, since other work on the machine slows all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clsnet.arrays.devices import has_gpu, namespace, resolve_device, to_device

GPU = has_gpu()
DEVICE = resolve_device("auto")


def seconds(run: Callable[[], Any]) -> float:
    wait()
    start = time.perf_counter()
    run()
    wait()
    return time.perf_counter() - start


def wait() -> None:
    """Wait until a GPU has done what it was told to do."""
    if GPU:
        import torch

        torch.cuda.synchronize()


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
    fixed = np.random.default_rng(0)
    weights = fixed.standard_normal((100, dimension), dtype=np.float32) / 10
    centres = fixed.standard_normal((n_classes, 100), dtype=np.float32) * np.float32(0.3)
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n)
    x = centres[y] + random.standard_normal((n, 100), dtype=np.float32)
    hidden = to_device(x, DEVICE) @ to_device(weights, DEVICE)
    return namespace(hidden).clip(hidden, min=0), y


def relative_difference(found: Any, expected: Any) -> float:
    """Return the norm of the difference over that of what is expected."""
    norm = namespace(expected).linalg.vector_norm
    return float(norm(found - expected) / norm(expected))
