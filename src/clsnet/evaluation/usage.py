"""Peak memory of this process."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import torch

from clsnet.memory import MEGABYTE


def peak_mb() -> float:
    """Return the most memory that was held so far, on the host and on the GPU, in MB.

    Examples
    --------
    >>> peak_mb() > 1
    True
    """
    device = torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0
    return (_host() + device) / MEGABYTE


def _host() -> int:
    status = Path("/proc/self/status")
    if status.exists():  # what the system tells of resources starts with the parent's peak
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
