"""Gram accumulation over a plain full product of the same size and type."""

from __future__ import annotations

from typing import Any

import torch

from clsnet.classifier.sums import PRECISIONS, Statistics
from timing import DEVICE, GPU, alternating, features, ratio

SIZE = 16_000 if GPU else 4_000
ROWS = 16_384 if GPU else 4_096


def run() -> dict[str, Any]:
    A, y = features(ROWS, SIZE)
    exact = A.double()
    seen = {p: Statistics(SIZE, DEVICE, p) for p in (PRECISIONS if GPU else PRECISIONS[:2])}
    times = alternating(
        {
            "full float32": lambda: A.T @ A,
            "full float64": lambda: exact.T @ exact,
            **{f"gram {p}": lambda s=s: s.add(A, y) for p, s in seen.items()},
        },
        rounds=3,
    )
    rates = {
        p: ratio(times["full float64" if p == "float64" else "full float32"], times[f"gram {p}"])
        for p in seen
    }
    print(f"Gram accumulation over a full product, D = {SIZE}: {rates}")
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
    torch.manual_seed(0)
    run()
