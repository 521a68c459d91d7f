"""A model on disk: safetensors with a JSON header, versioned, checked, written atomically."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clsnet.arrays.devices import Array, to_numpy
from clsnet.errors import ClsnetError
from clsnet.storage.files import write_atomically
from clsnet.storage.json_text import read_json
from clsnet.storage.schema import ANYTHING, Misfit, check_finite, mapped
from clsnet.storage.tensors import as_bytes, checksum, read_tensors

FORMAT = "clsnet"
VERSION = 2  # 1: a Gram matrix of every trace, and no frozen network
TRIANGLE = "gram"
TRAPEZOID = "rows"


def numbers(name: str, array: Array) -> int:
    """Count the numbers that an array takes on disk; of a triangular one, those not below it.

    Examples
    --------
    >>> numbers("trace.0.gram", np.eye(3)), numbers("omega", np.eye(3))
    (6, 9)
    """
    total: int = math.prod(array.shape)
    if _form(name) in (TRIANGLE, TRAPEZOID):
        below = len(array) * (len(array) - 1) // 2
        return total - below
    return total


def write(path: Path, header: dict[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a model: to a temporary file beside `path`, synced, then renamed."""
    packed = {name: _pack(name, to_numpy(array)) for name, array in arrays.items()}
    text = json.dumps(header, default=lambda value: value.tolist())
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "header": text,
        "checksum": checksum(text, packed),
    }
    write_atomically(path, as_bytes(packed, metadata))


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a model, or say in one line why the file is not one.

    The header is an object of whatever JSON can hold, and all numbers of arrays are finite, but
    for infinities in a frozen network; nothing else is known of either.
    """
    try:
        metadata, packed = read_tensors(path)
        _check_version(path, metadata)
        text = metadata.get("header", "")
        if metadata.get("checksum") != checksum(text, packed):
            raise ClsnetError(f"{path} is damaged: its contents do not match its checksum.")
        header = read_json(text)
        mapped(ANYTHING).check(header, "the header")
        arrays = {name: _unpack(name, packed) for name in packed}
        check_finite({n: a for n, a in arrays.items() if not n.startswith("network.")})
        return header, arrays
    except Misfit as error:
        raise ClsnetError(f"{path} is damaged or not a clsnet model: {error}.") from None


def _check_version(path: Path, metadata: Mapping[str, str]) -> None:
    if metadata.get("format") != FORMAT:
        raise ClsnetError(f"{path} is a safetensors file, but not a clsnet model.")
    version = metadata.get("version", "")
    if not (version.isascii() and version.isdigit()):
        raise Misfit("it does not tell its version")
    if int(version[:9]) > VERSION:
        raise ClsnetError(
            f"{path} was written by a newer clsnet (format {version[:9]}, this one reads "
            f"up to {VERSION}); upgrade clsnet to read it."
        )


def _form(name: str) -> str:
    """Return the last part of a name, except for arrays of a network or an extractor."""
    return "" if name.startswith(("network.", "extractor.")) else name.rpartition(".")[2]


def _pack(name: str, array: np.ndarray) -> np.ndarray:
    if _form(name) not in (TRIANGLE, TRAPEZOID) or not len(array):
        return np.asarray(array, order="C")
    return np.concatenate([row[i:] for i, row in enumerate(array)])


def _unpack(name: str, packed: dict[str, np.ndarray]) -> np.ndarray:
    form = _form(name)
    if form not in (TRIANGLE, TRAPEZOID):
        return packed[name]
    if packed[name].ndim != 1:
        raise Misfit(f"{name} has the shape {packed[name].shape}")
    if form == TRIANGLE:
        size = (math.isqrt(8 * len(packed[name]) + 1) - 1) // 2
        return _filled(name, packed[name], size, size, mirrored=True)
    cross = packed.get(name.removesuffix(TRAPEZOID) + "cross", np.empty(0))
    width = len(cross) if cross.ndim else 0
    below = max((2 * width + 1) ** 2 - 8 * len(packed[name]), 0)
    height = (2 * width + 1 - math.isqrt(below)) // 2
    return _filled(name, packed[name], height, width, mirrored=False)


def _filled(
    name: str, packed: np.ndarray, height: int, width: int, *, mirrored: bool
) -> np.ndarray:
    """Return the matrix whose upper part is given row by row; below is the same, or zero."""
    if len(packed) != height * width - height * (height - 1) // 2:
        raise Misfit(f"{name} has {len(packed):,} numbers, which fill no matrix")
    matrix = np.zeros((height, width), dtype=packed.dtype)
    start = 0
    for i in range(height):
        stop = start + width - i
        matrix[i, i:] = packed[start:stop]
        if mirrored:
            matrix[i:, i] = packed[start:stop]
        start = stop
    return matrix
