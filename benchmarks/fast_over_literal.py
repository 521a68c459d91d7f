"""Time of ``--preset fast`` over that of the paper's algorithm written literally, in one run.

Both learn FashionMNIST-10/5 and test on all tasks so far after every task. The literal algorithm
runs twice: with A = [Z, G*] as in the text (1,685 columns) and with the 900 nodes alone, the size
of the authors' release.
"""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np

from clsnet.data import load_sequence
from clsnet.evaluation.protocol import evaluate
from clsnet.methods.registry import get_method
from literal import LiteralExtractor, literal_run


def run() -> dict[str, Any]:
    sequence = load_sequence("FashionMNIST-10/5")
    tasks = sequence.tasks(sequence.order(seed=0, index=0))
    seconds, accuracy = {}, {}

    build = functools.partial(get_method("clsnet").build, 0, "fast")
    clock = time.perf_counter()
    accuracy["fast"] = float(np.mean(evaluate(build, tasks, with_independent=False).R[-1]))
    seconds["fast"] = time.perf_counter() - clock

    for name, with_inputs in (("literal, 900 nodes", False), ("literal, text", True)):
        clock = time.perf_counter()
        extractor = LiteralExtractor(seed=0, with_inputs=with_inputs)
        accuracy[name] = float(np.mean(literal_run(tasks, extractor, gamma=1e4)))
        seconds[name] = time.perf_counter() - clock
    found = {
        "fast_over_literal": seconds["fast"] / seconds["literal, text"],
        "fast_over_literal_900_nodes": seconds["fast"] / seconds["literal, 900 nodes"],
        "fast_over_literal_accuracy": accuracy,
    }
    print(f"--preset fast over the literal algorithm: {found}")
    return found


def plot(found: dict[str, Any], draw: Any) -> None:
    draw.bars(
        "fast_over_literal",
        "FashionMNIST-10/5: time over that of the paper's algorithm, written literally",
        {
            "--preset fast": found["fast_over_literal"],
            "literal, 900 nodes": (
                found["fast_over_literal"] / found["fast_over_literal_900_nodes"]
            ),
            "literal, text": 1.0,
        },
        reference=1 / 3,
    )


if __name__ == "__main__":
    run()
