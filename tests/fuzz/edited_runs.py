"""Edits of result files: a report leaves them out, or shows them, and never fails.

``python -m tests.fuzz.edited_runs SEED COUNT SECONDS``: as JSON.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from clsnet.reporting.markdown import write_tables
from tests.fuzz import using
from tests.fuzz.headers import edit_tree
from tests.fuzz.watch import forget_peak, peak_mb

GOOD = Path(__file__).parents[2] / "results/baselines/FashionMNIST-10/5"
MOST_EXAMPLES = 20


def tried(first: int, count: int, seconds: float) -> dict[str, Any]:
    """Edit one run of two methods' and make the tables, so many times."""
    runs = [json.loads(path.read_text()) for path in sorted(GOOD.glob("*/0.json"))[:4]]
    end, others, left_out, done = time.monotonic() + seconds, [], 0, 0
    forget_peak()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for i, run in enumerate(runs):
            (folder / f"{i}.json").write_text(json.dumps(run))
        for number in range(first, first + count):
            if time.monotonic() > end:
                break
            random = np.random.RandomState(number)
            edited: Any = json.loads(json.dumps(runs[random.randint(len(runs))]))
            for _ in range(random.choice([1, 1, 2, 4])):
                edited = edit_tree(edited, random)
            (folder / "9.json").write_text(json.dumps(edited))
            told: list[str] = []
            what = using.outcome(lambda: told.extend(write_tables(folder, folder / "t.md")))  # noqa: B023
            if what != "answered":
                others.append(f"{number}: {what}")
            left_out, done = left_out + bool(told), done + 1
    return {
        "cases": done,
        "left_out": left_out,
        "other": len(others),
        "peak_mb": round(peak_mb(), 1),
        "examples": others[:MOST_EXAMPLES],
    }


if __name__ == "__main__":
    print(json.dumps(tried(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))))
