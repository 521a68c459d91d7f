"""How time grows with N, D and C, and what each stage makes of the machine."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from clsnet import CLSNet
from clsnet.classifier.ridge.rule import Sums, regress
from clsnet.classifier.sums import Statistics
from clsnet.data import load_dataset
from clsnet.estimator.features import new_extractor
from timing import DEVICE, GPU, alternating, exponent, features, median

SIZE = 8_000 if GPU else 2_000
SAMPLES = (8_192, 16_384, 32_768, 65_536) if GPU else (2_048, 4_096, 8_192, 16_384)
SIZES = (2_000, 4_000, 8_000, 16_000) if GPU else (500, 1_000, 2_000, 4_000)
CLASSES = (10, 100, 1_000)
ROWS = 4_096


def gram(A: Any, y: Any) -> Statistics:
    seen = Statistics(A.shape[1], DEVICE)
    for start in range(0, len(y), ROWS):
        seen.add(A[start : start + ROWS], y[start : start + ROWS])
    assert len(seen.gram) == A.shape[1]  # few rows are not squared before somebody asks
    return seen


def sums(n: int, size: int, n_classes: int = 10) -> Sums:
    seen = gram(*features(n, size, n_classes))
    return Sums(seen.gram, seen.cross(range(n_classes)), n)


def run() -> dict[str, Any]:
    found = {"scaling": growth(), "stages": stages()}
    for name, law in found["scaling"].items():
        print(f"{name}: exponent {law['exponent']:.2f}")
    print(f"rate over the peak of a matrix product: {found['stages']}")
    return found


def growth() -> dict[str, Any]:
    half = SIZE // 2
    by_samples = {n: features(n, half) for n in SAMPLES}
    by_size = {d: features(ROWS, d) for d in SIZES}
    solved = {d: sums(ROWS, d) for d in SIZES}
    by_class = {c: sums(ROWS, half, c) for c in CLASSES}
    laws = {
        "Gram matrix, samples N": {n: lambda p=p: gram(*p) for n, p in by_samples.items()},
        "Gram matrix, columns D": {d: lambda p=p: gram(*p) for d, p in by_size.items()},
        "solution and ridge, columns D": {d: lambda p=p: regress(p) for d, p in solved.items()},
        "solution and ridge, classes C": {c: lambda p=p: regress(p) for c, p in by_class.items()},
    }
    found = {}
    for name, runs in laws.items():
        times = median(
            alternating({str(size): run for size, run in runs.items()}, rounds=2, warm=GPU)
        )
        sizes, values = [int(size) for size in times], list(times.values())
        found[name] = {
            "sizes": sizes,
            "time_over_first": [value / values[0] for value in values],
            "exponent": exponent(sizes, values),
        }
    return found


def stages() -> dict[str, float | None]:
    """Return operations per second over those of a large product; more than 1 is by symmetry."""
    A, y = features(ROWS, SIZE)
    exact, problem = A.double(), sums(ROWS, SIZE)
    solution = regress(problem)
    X = load_dataset("FashionMNIST").X_train[:ROWS]
    extractor = new_extractor(CLSNet(preset="fast"), X.shape[1:]).fit(X, DEVICE)
    with FlopCounterMode(display=False) as counter:
        extractor.transform(X[:256])
    work = {
        "extraction, float32": counter.get_total_flops() * len(X) / 256,
        "Gram matrix, float64": 2 * ROWS * SIZE**2,
        "solution, float64": SIZE**3 / 3 + 2 * SIZE**2 * 10,
        "solution and ridge, float64": SIZE**3 / 3 + 2 * SIZE**2 * 10,
        "prediction, float64": 2 * ROWS * SIZE * 10,
    }
    runs = {
        "extraction, float32": lambda: extractor.transform(X),
        "Gram matrix, float64": lambda: gram(A, y),
        "solution, float64": lambda: regress(problem, 1e-2),
        "solution and ridge, float64": lambda: regress(problem),
        "prediction, float64": lambda: A.double() @ solution.omega,
        "peak, float32": lambda: A.T @ A,
        "peak, float64": lambda: exact.T @ exact,
    }
    best = {name: min(values) for name, values in alternating(runs, rounds=3).items()}
    peak = {kind: 2 * ROWS * SIZE**2 / best[f"peak, {kind}"] for kind in ("float32", "float64")}
    return {
        name: operations / best[name] / peak[name.rsplit(", ")[-1]] if operations else None
        for name, operations in work.items()
    }


def plot(found: dict[str, Any], draw: Any) -> None:
    draw.lines(
        "scaling",
        "Time over that of the smallest size",
        "size over the smallest",
        {
            f"{name}: {law['exponent']:.2f}": (
                [size / law["sizes"][0] for size in law["sizes"]],
                law["time_over_first"],
            )
            for name, law in found["scaling"].items()
        },
    )
    draw.bars(
        "stages",
        "Rate over that of a large matrix product",
        {name: rate for name, rate in found["stages"].items() if rate is not None},
        reference=1.0,
    )


if __name__ == "__main__":
    torch.manual_seed(0)
    run()
