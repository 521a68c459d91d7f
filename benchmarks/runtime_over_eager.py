"""Features per second of the fastest runtime over those of eager PyTorch, in one run.

    pip install efficientnet_lite_pytorch==0.1.0   # the network as PyTorch modules, to compare with
    python benchmarks/runtime_over_eager.py --out results/bench/runtime.json

Both compute the last layer of EfficientNet-Lite0 for the same 32 images of 224x224 pixels, in
float32, by turns.
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
from clsnet.extractor.backbones.efficientnet_lite import EfficientNetLite
from clsnet.extractor.runtime.threads import n_threads
from clsnet.images.dead_leaves import dead_leaves

BATCH = 32
ROUNDS = 9
Run = Callable[[np.ndarray], np.ndarray]


def eager_torch(backbone: EfficientNetLite) -> Run:
    """Return the network as PyTorch computes it from modules, one batch at a time."""
    import torch
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_name("efficientnet-lite0").eval()
    state = {name: torch.from_numpy(a.copy()) for name, a in backbone.weights_state().items()}
    network.load_state_dict(state)

    def run(x: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            maps = network.extract_features(torch.from_numpy(np.ascontiguousarray(x)))
            return maps.mean(dim=(2, 3)).numpy()

    return run


def rate(run: Run, x: np.ndarray, times: int) -> float:
    clock = time.perf_counter()
    for _ in range(times):
        run(x)
    return times * len(x) / (time.perf_counter() - clock)


def main(out: Path | None) -> None:
    backbone = EfficientNetLite("last", views=1)
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
