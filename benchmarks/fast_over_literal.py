"""Time of ``--preset fast`` over that of the paper's algorithm written literally, in one run.

Both learn FashionMNIST-10/5 and test on all tasks so far after every task. The literal algorithm
runs twice: with A = [Z, G*] as in the text (1,685 columns) and with the 900 nodes alone, the size
of the authors' release.
"""

from __future__ import annotations

import functools
import json
import sys
import time
from pathlib import Path

import numpy as np

from clsnet.data import load_sequence
from clsnet.evaluation.protocol import evaluate
from clsnet.evaluation.store import environment
from clsnet.methods import get_method
from literal import LiteralExtractor, literal_run


def main(out: Path) -> None:
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
        ratio = seconds["fast"] / seconds[name]
        print(
            f"{name}: {seconds[name]:.1f} s, accuracy {accuracy[name]:.4f}; fast / it {ratio:.3f}"
        )
    print(f"fast: {seconds['fast']:.1f} s, accuracy {accuracy['fast']:.4f}")
    result = {
        "command": "make bench",
        "fast_over_literal": seconds["fast"] / seconds["literal, text"],
        "fast_over_literal_900_nodes": seconds["fast"] / seconds["literal, 900 nodes"],
        "avg_acc": accuracy,
        "seconds": seconds,
        "environment": environment(),
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "results/bench/fast_over_literal.json"))
