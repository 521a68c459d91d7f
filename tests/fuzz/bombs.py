"""The bombs of files: how much memory they take, and how long each takes, alone and 64 at once.

``python -m tests.fuzz.bombs NAME ...``, or ``--together [NAME ...]``: as JSON.
"""

import itertools
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz import using
from tests.fuzz.file_corpus import BOMBS
from tests.fuzz.watch import forget_peak, peak_mb

AT_ONCE = 64


def set_off(name: str) -> dict[str, object]:
    """Set off one of them, and tell what became of it."""
    with tempfile.TemporaryDirectory() as folder:
        call = BOMBS[name](Path(folder) / "bomb")
        forget_peak()
        what, took = timed(call)
        return {"what": what, "peak_mb": round(peak_mb(), 1), "seconds": round(took, 2)}


def set_off_together(names: Iterable[str]) -> dict[str, object]:
    """Set 64 off at once, each in a thread; tell what became of them, and how long each took."""
    names = list(itertools.islice(itertools.cycle(names), AT_ONCE))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        calls = _calls(names, Path(folder))
        forget_peak()
        used = time.process_time()
        found = list(pool.map(timed, calls))
        used, peak = time.process_time() - used, peak_mb()
    seconds, slowest = max((took, name) for (_, took), name in zip(found, names, strict=True))
    return {
        "at_once": AT_ONCE,
        "outcomes": [what for what, _ in found],
        "peak_mb": round(peak, 1),
        "of_a_processor_s": round(used, 2),
        "longest_by_the_clock_s": round(seconds, 2),
        "slowest": slowest,
    }


def timed(call: Callable[[], object]) -> tuple[str, float]:
    """Return what becomes of a call, and the seconds until then."""
    start = time.monotonic()
    return using.outcome(call), time.monotonic() - start


def _calls(names: list[str], folder: Path) -> list[Callable[[], object]]:
    """Write the files; those that are only read are written once."""
    written: dict[str, Callable[[], object]] = {}
    calls = []
    for i, name in enumerate(names):
        if name not in written or name.startswith("model_"):
            (folder / str(i)).mkdir()
            written[name] = BOMBS[name](folder / str(i) / "bomb")
        calls.append(written[name])
    return calls


if __name__ == "__main__":
    if sys.argv[1:2] == ["--together"]:
        print(json.dumps(set_off_together(sys.argv[2:] or BOMBS)))
    else:
        print(json.dumps({name: set_off(name) for name in sys.argv[1:]}))
