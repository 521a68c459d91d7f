"""How time grows with N, D and C, and what each stage makes of the machine."""

from __future__ import annotations

import copy
import importlib.util
from typing import Any

import numpy as np

from clsnet import CLSNet
from clsnet.arrays.linalg import double
from clsnet.classifier.ridge.normal_equations import NormalEquations
from clsnet.classifier.ridge.rule import regress
from clsnet.classifier.sums import RunningSums
from clsnet.data import load_dataset
from clsnet.estimator.features import new_extractor
from clsnet.extractor import Extractor
from gram import full_products
from timing import DEVICE, GPU, alternating, exponent, features, median

SIZE = 8_000 if GPU else 2_000
SAMPLES = (8_192, 16_384, 32_768, 65_536) if GPU else (2_048, 4_096, 8_192, 16_384)
SIZES = (2_000, 4_000, 8_000, 16_000) if GPU else (500, 1_000, 2_000, 4_000)
CLASSES = (10, 100, 1_000)
ROWS = 4_096


def gram(A: Any, y: Any) -> RunningSums:
    seen = RunningSums(A.shape[1], DEVICE)
    for start in range(0, len(y), ROWS):
        seen.add(A[start : start + ROWS], y[start : start + ROWS])
    assert len(seen.gram) == A.shape[1]  # few rows are multiplied only then
    return seen


def equations(n: int, size: int, n_classes: int = 10) -> NormalEquations:
    seen = gram(*features(n, size, n_classes))
    return NormalEquations(seen.gram, seen.cross(range(n_classes)), n)


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
    solved = {d: equations(ROWS, d) for d in SIZES}
    by_class = {c: equations(ROWS, half, c) for c in CLASSES}
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
    exact, problem = double(A), equations(ROWS, SIZE)
    solution = regress(problem)
    X = load_dataset("FashionMNIST").X_train[:ROWS]
    extractor = new_extractor(CLSNet(preset="fast"), X.shape[1:]).fit(X, DEVICE)
    work = {
        "extraction, float32": operations(extractor, X[:256]) * len(X) / 256,
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
        "prediction, float64": lambda: double(A) @ solution.omega,
        **{f"{name}, float32": product for name, product in full_products(A).items()},
        **{f"{name}, float64": product for name, product in full_products(exact).items()},
    }
    best = {name: min(values) for name, values in alternating(runs, rounds=3).items()}

    def peak(kind: str) -> float:
        fastest = min(best[name] for name in runs.keys() - work.keys() if name.endswith(kind))
        return 2 * ROWS * SIZE**2 / fastest

    return {
        name: count / best[name] / peak(name.rsplit(", ")[-1]) if count else None
        for name, count in work.items()
    }


def operations(extractor: Extractor, X: np.ndarray) -> float:
    """Count the operations of plain convolutions and products, as torch does; 0 without torch."""
    if importlib.util.find_spec("torch") is None:
        return 0
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    on_torch = copy.deepcopy(extractor).to(DEVICE if GPU else torch.device("cpu"))
    with FlopCounterMode(display=False) as counter:
        on_torch.transform(X)
    return float(counter.get_total_flops())


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
    run()
