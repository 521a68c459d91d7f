"""Where to compute."""

from __future__ import annotations

import torch

from clsnet.errors import ClsnetError


def torch_device(name: str) -> torch.device:
    """Return the device of that name; ``"auto"`` is the GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return torch.zeros(0, device=name).device
    except (RuntimeError, AssertionError):
        raise ClsnetError(f"device {name!r} is not available here; use 'auto' or 'cpu'.") from None
