"""Every benchmark, as ratios in one run: ``make bench``.

    python benchmarks/all.py [--out results/bench/cpu.json] [TOPIC ...]

Topics that are named replace their figures in the file and leave the others as they are. One that
fails is told of, and the others go on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import cached
import fast_over_literal
import few_samples
import gram
import page
import per_class
import precision
import ranks
import scaling
import small_fit
import small_task
import streaming
import tasks
from clsnet.evaluation.store import environment
from timing import GPU

TOPICS = {
    "gram": gram,
    "per_class": per_class,
    "small_fit": small_fit,
    "small_task": small_task,
    "few_samples": few_samples,
    "tasks": tasks,
    "cached": cached,
    "scaling": scaling,
    "precision": precision,
    "streaming": streaming,
    "ranks": ranks,
    "fast_over_literal": fast_over_literal,
}


OF_THE_CPU = ("streaming", "ranks", "fast_over_literal")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=", ".join(TOPICS))
    place = Path("results/bench") / ("h200.json" if GPU else "cpu.json")
    parser.add_argument("--out", type=Path, default=place)
    arguments = parser.parse_args()
    out = arguments.out
    topics = arguments.topics or [t for t in TOPICS if not (GPU and t in OF_THE_CPU)]
    found = json.loads(out.read_text()) if arguments.topics and out.exists() else {}
    out.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    failed = []
    for name in topics:
        try:
            figures = TOPICS[name].run()
            found |= {**figures, "command": "make bench", "environment": environment()}
            out.write_text(json.dumps(found, indent=1) + "\n")
            draw(TOPICS[name], figures, out)
        except Exception:  # the other topics are worth having
            traceback.print_exc()
            failed.append(name)
        print(f"--- {name} after {time.perf_counter() - start:.0f} s", flush=True)
    page.fill()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def draw(topic: Any, figures: dict[str, Any], out: Path) -> None:
    """Plot a topic, where matplotlib is there."""
    try:
        from draw import Draw
    except ModuleNotFoundError as error:
        print(f"no plot without {error.name}")
        return
    topic.plot(figures, Draw(out.parent, out.stem))


if __name__ == "__main__":
    main()
