"""Gram accumulation over the fastest full product of the same size and type.

NumPy and torch both multiply ``A'B``, with B a copy of A: NumPy would notice that ``A'A`` is
symmetric, and leave out half of it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

from clsnet.arrays.devices import is_torch, namespace
from clsnet.arrays.linalg import double
from clsnet.classifier.sums import PRECISIONS, RunningSums
from timing import DEVICE, GPU, alternating, features, ratio

SIZE = 16_000 if GPU else 4_000
ROWS = 16_384 if GPU else 4_096


def full_products(A: Any) -> dict[str, Callable[[], Any]]:
    """Return what multiplies ``A'B``, by name."""
    B = namespace(A).asarray(A, copy=True)
    if is_torch(A):
        return {"torch": lambda: A.T @ B}
    products: dict[str, Callable[[], Any]] = {"numpy": lambda: A.T @ B}
    if importlib.util.find_spec("torch") is not None:
        import torch

        a, b = torch.from_numpy(A), torch.from_numpy(B)
        products["torch"] = lambda: a.T @ b
    return products


def run() -> dict[str, Any]:
    A, y = features(ROWS, SIZE)
    seen = {p: RunningSums(SIZE, DEVICE, p) for p in (PRECISIONS if GPU else PRECISIONS[:2])}
    products = {
        f"{name} {precision}": product
        for precision, some in (("float32", A), ("float64", double(A)))
        for name, product in full_products(some).items()
    }
    times = alternating(
        {**products, **{f"gram {p}": lambda p=p: seen[p].add(A, y) for p in seen}}, rounds=5
    )

    def fastest(precision: str) -> list[float]:
        kind = "float64" if precision == "float64" else "float32"
        own = [times[name] for name in products if name.endswith(kind)]
        return [min(values) for values in zip(*own, strict=True)]

    rates = {p: ratio(fastest(p), times[f"gram {p}"]) for p in seen}
    print(f"Gram accumulation over the fastest full product, D = {SIZE}: {rates}")
    return {
        "gram_rate_over_full_product": rates["float32"],
        "gram_rate_over_full_product_float64": rates["float64"],
        "gram_rates": rates,
        "gram_time_over_float64": {
            p: ratio(times[f"gram {p}"], times["gram float64"]) for p in seen
        },
        "gram_dimension": SIZE,
        "gram_rows": ROWS,
    }


def plot(found: dict[str, Any], draw: Any) -> None:
    draw.bars(
        "gram",
        f"Gram accumulation, D = {found['gram_dimension']}: rate over a full product",
        found["gram_rates"],
        reference=1.0,
        limit=2.0,
    )


if __name__ == "__main__":
    run()
