"""Features per second of the fastest runtime over those of eager PyTorch, in one run.

Both run the same graph of EfficientNet-Lite0, with outputs at several depths, on the same 32 images
of 224x224 pixels, in float32, by turns. Eager PyTorch computes one node after another on the whole
batch; batch normalisation is folded into the convolutions for both.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from clsnet.evaluation.store import environment
from clsnet.extractor.backbones.efficientnet_lite import EfficientNetLite0
from clsnet.extractor.backbones.network import Network
from clsnet.extractor.runtime.threads import n_threads
from clsnet.images.dead_leaves import dead_leaves

BATCH = 32
ROUNDS = 9
Run = Callable[[np.ndarray], np.ndarray]


def eager_torch(network: Network) -> Run:
    """Return the network as PyTorch computes it without a compiler, one batch at a time."""
    import torch

    from clsnet.extractor.runtime.torch_graph import InTorch

    [runtime] = network._runtimes.values()
    graph = InTorch(runtime.graph(), "cpu")

    def run(x: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return graph._compute(torch.from_numpy(np.ascontiguousarray(x))).numpy()

    return run


def rate(run: Run, x: np.ndarray, times: int) -> float:
    clock = time.perf_counter()
    for _ in range(times):
        run(x)
    return times * len(x) / (time.perf_counter() - clock)


def main(out: Path | None) -> None:
    backbone = EfficientNetLite0()
    leaves = dead_leaves(BATCH * 3, np.random.RandomState(0)).astype(np.float32)
    x = backbone.normalised(leaves.reshape(BATCH, 3, *leaves.shape[1:]))
    eager = eager_torch(backbone)
    [run] = backbone._runtimes.values()

    clock = time.perf_counter()
    run(x[:1])
    first = time.perf_counter() - clock
    difference = float(np.abs(run(x) - eager(x)).max())

    rates: dict[str, list[float]] = {"eager": [], "runtime": []}
    for _ in range(ROUNDS):
        rates["eager"].append(rate(eager, x, 1))
        rates["runtime"].append(rate(run, x, 4))
    ratio = median(b / a for a, b in zip(rates["eager"], rates["runtime"], strict=True))
    print(f"eager {median(rates['eager']):.1f} images/s, runtime {median(rates['runtime']):.1f}")
    print(f"runtime / eager {ratio:.2f}; features differ by at most {difference:.1e}")
    print(f"first image, with compilation: {first:.2f} s")
    result = {
        "command": "python benchmarks/runtime_over_eager.py --out results/bench/runtime.json",
        "runtime_over_eager": ratio,
        "images_per_second": rates,
        "largest_difference": difference,
        "seconds": {"first image, with compilation": first},
        "threads": n_threads(),
        "environment": environment(),
    }
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    main(parser.parse_args().out)
