"""Every benchmark, as ratios in one run: ``make bench``.

    python benchmarks/all.py [--out results/bench/cpu.json] [TOPIC ...]

Topics that are named replace their figures in the file and leave the others as they are.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import fast_over_literal
import gram
import page
import per_class
import precision
import ranks
import scaling
import small_task
import streaming
import tasks
from clsnet.evaluation.store import environment
from draw import Draw
from timing import GPU

TOPICS = {
    "gram": gram,
    "per_class": per_class,
    "small_task": small_task,
    "tasks": tasks,
    "scaling": scaling,
    "precision": precision,
    "streaming": streaming,
    "ranks": ranks,
    "fast_over_literal": fast_over_literal,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=", ".join(TOPICS))
    place = Path("results/bench") / ("h200.json" if GPU else "cpu.json")
    parser.add_argument("--out", type=Path, default=place)
    arguments = parser.parse_args()
    out = arguments.out
    found = json.loads(out.read_text()) if arguments.topics and out.exists() else {}
    out.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    for name in arguments.topics or TOPICS:
        figures = TOPICS[name].run()
        TOPICS[name].plot(figures, Draw(out.parent, out.stem))
        found |= figures
        found |= {"command": "make bench", "environment": environment()}
        out.write_text(json.dumps(found, indent=1) + "\n")
        page.fill()
        print(f"--- {name} after {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
