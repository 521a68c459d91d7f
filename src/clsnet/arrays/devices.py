"""Devices: arrays of NumPy on the CPU, arrays of torch on a GPU.

Torch is imported only if a GPU is requested, or if ``"auto"`` finds a driver.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from clsnet.errors import ClsnetError
from clsnet.extras import needed

Array = Any  # numpy.ndarray, or torch.Tensor on a GPU
Device = Any  # "cpu", or torch.device of a GPU
CPU = "cpu"


def resolve_device(name: str) -> Device:
    """Return the device of that name; ``"auto"`` is the GPU where there is one.

    Examples
    --------
    >>> resolve_device("cpu")
    'cpu'
    """
    if name == "auto":
        name = "cuda" if has_gpu() else CPU
    if name == CPU:
        return CPU
    torch = needed("torch", f"device {name!r}", "torch")
    try:
        return torch.zeros(0, device=name).device
    except (RuntimeError, AssertionError):
        raise ClsnetError(f"device {name!r} is not available here; use 'auto' or 'cpu'.") from None


def has_gpu() -> bool:
    """Whether torch is installed and has a GPU; torch is imported only if a driver is there."""
    if "torch" not in sys.modules:
        driver = Path("/proc/driver/nvidia").exists() or shutil.which("nvidia-smi") is not None
        if not driver or importlib.util.find_spec("torch") is None:
            return False
    torch = needed("torch", "a GPU", "torch")
    return bool(torch.cuda.is_available())


def namespace(*arrays: Array) -> Any:
    """Return the array library of arrays, with the names of the array API standard.

    NumPy has these names itself; `array_api_compat` gives them to torch.
    """
    return array_namespace(*arrays) if any(map(is_torch, arrays)) else np


def library(device: Device) -> Any:
    """Return the array library of a device, with the names of the array API standard."""
    if device == CPU:
        return np
    return needed("array_api_compat.torch", f"device {device}", "torch")


def is_torch(array: Array) -> bool:
    """Whether an array is torch's."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def device_of(array: Array) -> Device:
    """Return the device of an array: ``"cpu"`` for every array of NumPy."""
    return array.device if is_torch(array) else CPU


def to_device(array: Array, device: Device) -> Array:
    """Return an array on a device: NumPy's on the CPU, torch's on a GPU.

    Examples
    --------
    >>> to_device(np.ones(2), "cpu")
    array([1., 1.])
    """
    if device == CPU:
        return to_numpy(array)
    torch = needed("torch", f"device {device}", "torch")
    if is_torch(array):
        return array.to(device)
    return torch.from_numpy(np.asarray(array, order="C")).to(device)


def to_numpy(array: Array) -> np.ndarray:
    """Return an array as a NumPy array, without a copy if possible."""
    return array.detach().cpu().numpy() if is_torch(array) else np.asarray(array)
