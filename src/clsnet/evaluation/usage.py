"""Peak memory of this process."""

from __future__ import annotations

import sys
from pathlib import Path

from clsnet.extras import needed
from clsnet.memory import MEGABYTE

LINUX_STATUS = Path("/proc/self/status")


def peak_mb() -> float:
    """Return the most memory that was held so far, on the host and on the GPU, in MB.

    On systems that do not tell the peak it is what the process holds now.

    Examples
    --------
    >>> peak_mb() > 1
    True
    """
    return (_host() + _gpu()) / MEGABYTE


def _host() -> int:
    if LINUX_STATUS.exists():
        lines = dict(line.split(":", 1) for line in LINUX_STATUS.read_text().splitlines())
        if "VmHWM" in lines:  # some containers leave it out
            return int(lines["VmHWM"].split()[0]) * 1024
    memory = needed("psutil", "measuring memory", "cli").Process().memory_info()._asdict()
    return int(memory.get("peak_wset", memory["rss"]))  # Windows tells the peak


def _gpu() -> int:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return 0
    return int(torch.cuda.max_memory_allocated())
