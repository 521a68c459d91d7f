"""Peak memory of this process."""

from __future__ import annotations

import resource
import sys

import torch

from clsnet.memory import MEGABYTE


def peak_mb() -> float:
    """Return the most memory that was held so far, on the host and on the GPU, in MB.

    Examples
    --------
    >>> peak_mb() > 1
    True
    """
    unit = 1 if sys.platform == "darwin" else 1024
    host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    device = torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0
    return (host + device) / MEGABYTE
