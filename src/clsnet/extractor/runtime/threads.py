"""How many threads run networks."""

from __future__ import annotations

import os


def n_threads() -> int:
    """Return ``OMP_NUM_THREADS``, or else how many processors this process may use."""
    told = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if told.isdecimal() and int(told) > 0:
        return int(told)
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
