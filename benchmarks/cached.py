"""Ten tasks of features that lie on disk: seconds, and over a plain product of the same size."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from clsnet import CLSNet
from clsnet.arrays.devices import to_device, to_numpy
from clsnet.extractor import Identity
from gram import full_products
from timing import DEVICE, features, seconds

SAMPLES, SIZE, CLASSES, TASKS = 50_000, 5_000, 100, 10
AT_ONCE = SAMPLES // TASKS


def write(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return features in a file that is mapped into memory, and labels; a task has ten classes."""
    X = np.lib.format.open_memmap(path, "w+", np.float32, (SAMPLES, SIZE))
    y = np.empty(SAMPLES, int)
    for task in range(TASKS):
        rows = slice(task * AT_ONCE, (task + 1) * AT_ONCE)
        A, labels = features(AT_ONCE, SIZE, CLASSES // TASKS, seed=task)
        X[rows], y[rows] = to_numpy(A), labels + task * CLASSES // TASKS
    X.flush()
    return np.load(path, mmap_mode="r"), y


def learn(X: np.ndarray, y: np.ndarray, precision: str) -> None:
    model = CLSNet(backbone=Identity(scale="none"), connection="Z", precision=precision)
    for start in range(0, SAMPLES, AT_ONCE):
        model.partial_fit(X[start : start + AT_ONCE], y[start : start + AT_ONCE])
    model.consolidate()


def run() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        X, y = write(Path(folder) / "features.npy")
        took = {p: seconds(lambda p=p: learn(X, y, p)) for p in ("float64", "float32")}
        part = to_device(X[:AT_ONCE].astype(np.float64), DEVICE)
    runs = full_products(part).values()
    product = TASKS * min(seconds(run) for run in runs for _ in range(2))
    found = {
        "cached_ten_tasks_s": took["float64"],
        "cached_ten_tasks_float32_s": took["float32"],
        "cached_ten_tasks_over_product": took["float64"] / product,
        "cached_product_s": product,
    }
    print(f"{SAMPLES} x {SIZE} features on disk, {TASKS} tasks: {found}")
    return found


def plot(found: dict[str, Any], draw: Any) -> None:
    draw.bars(
        "cached",
        f"{SAMPLES:,} x {SIZE:,} features on disk, {TASKS} tasks: seconds",
        {
            "ten tasks": found["cached_ten_tasks_s"],
            "ten tasks, products in float32": found["cached_ten_tasks_float32_s"],
            "one plain product A'A": found["cached_product_s"],
        },
    )


if __name__ == "__main__":
    run()
