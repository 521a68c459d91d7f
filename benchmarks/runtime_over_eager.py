"""Features per second of the fastest runtime over those of eager PyTorch, in one run.

Both compute the features of EfficientNet-Lite0 at several depths, of the same 32 images of
224x224 pixels, in float32, by turns.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import torch
from torch import Tensor

from clsnet.evaluation.store import environment
from clsnet.extractor.backbones.efficientnet_lite import EfficientNetLite
from clsnet.images.dead_leaves import dead_leaves
from clsnet.extractor.runtime.torch_module import Runtime, fastest

BATCH = 32
ROUNDS = 9


def rate(run: Callable[[Tensor], Tensor], x: Tensor, times: int) -> float:
    clock = time.perf_counter()
    for _ in range(times):
        run(x)
    return times * len(x) / (time.perf_counter() - clock)


@torch.inference_mode()
def main(out: Path | None) -> None:
    backbone = EfficientNetLite()
    leaves = dead_leaves(BATCH * 3, np.random.RandomState(0)).astype(np.float32)
    x = backbone.normalised(torch.from_numpy(leaves.reshape(BATCH, 3, *leaves.shape[1:])))
    eager = backbone.tapped

    clock = time.perf_counter()
    Runtime(eager)(x[:1])
    first = time.perf_counter() - clock
    clock = time.perf_counter()
    run = fastest(eager, x[:1])
    conversion = time.perf_counter() - clock
    difference = float((run(x) - eager(x)).abs().max())

    rates: dict[str, list[float]] = {"eager": [], "runtime": []}
    for _ in range(ROUNDS):
        rates["eager"].append(rate(eager, x, 1))
        rates["runtime"].append(rate(run, x, 4))
    ratio = median(b / a for a, b in zip(rates["eager"], rates["runtime"], strict=True))
    print(f"eager {median(rates['eager']):.1f} images/s, runtime {median(rates['runtime']):.1f}")
    print(f"runtime / eager {ratio:.2f}; features differ by at most {difference:.1e}")
    print(f"one image before conversion {first:.2f} s; conversion {conversion:.1f} s")
    result = {
        "command": "python benchmarks/runtime_over_eager.py --out results/bench/runtime.json",
        "runtime_over_eager": ratio,
        "images_per_second": rates,
        "largest_difference": difference,
        "seconds": {"first image": first, "conversion": conversion},
        "threads": torch.get_num_threads(),
        "environment": environment(),
    }
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    main(parser.parse_args().out)
