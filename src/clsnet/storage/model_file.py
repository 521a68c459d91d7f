"""A model on disk: safetensors with a JSON header, versioned, checked, written atomically."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from clsnet.arrays.devices import Array, to_numpy
from clsnet.errors import ClsnetError
from clsnet.storage.files import write_atomically

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
        "checksum": _checksum(text, packed),
    }
    write_atomically(path, safetensors.numpy.save(packed, metadata=metadata))


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a model, or say in one line why the file is not one."""
    try:
        path.open("rb").close()  # safetensors does not say why a file cannot be opened
        with safetensors.safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise ClsnetError(f"{path} is a safetensors file, but not a clsnet model.")
            version = int(metadata["version"])
            if version > VERSION:
                raise ClsnetError(
                    f"{path} was written by a newer clsnet (format {version}, this one reads "
                    f"up to {VERSION}); upgrade clsnet to read it."
                )
            packed = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except ClsnetError:
        raise
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise ClsnetError(f"cannot read {path}: {reason}.") from None
    except Exception:
        raise ClsnetError(f"{path} is damaged or not a clsnet model.") from None
    text = metadata.get("header", "")
    if metadata.get("checksum") != _checksum(text, packed):
        raise ClsnetError(f"{path} is damaged: its contents do not match its checksum.")
    return json.loads(text), {name: _unpack(name, packed) for name in packed}


def described(name: str, array: np.ndarray) -> bytes:
    """Return name, type and shape of an array, as digests of arrays begin.

    Types have torch's names, so that digests of files written by version 0.1 still hold.

    Examples
    --------
    >>> described("omega", np.zeros((2, 1)))
    b'omega torch.float64 (2, 1)'
    """
    return f"{name} torch.{array.dtype} {array.shape}".encode()


def _form(name: str) -> str:
    """Return the last part of a name, except for arrays of a network or an extractor."""
    return "" if name.startswith(("network.", "extractor.")) else name.rpartition(".")[2]


def _pack(name: str, array: np.ndarray) -> np.ndarray:
    if _form(name) not in (TRIANGLE, TRAPEZOID) or not len(array):
        return np.asarray(array, order="C")
    return np.concatenate([row[i:] for i, row in enumerate(array)])


def _unpack(name: str, packed: dict[str, np.ndarray]) -> np.ndarray:
    if _form(name) == TRIANGLE:
        return _triangle(packed[name])
    if _form(name) == TRAPEZOID:
        return _trapezoid(packed[name], len(packed[name.removesuffix(TRAPEZOID) + "cross"]))
    return packed[name]


def _triangle(packed: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix whose upper half is given row by row."""
    size = (math.isqrt(8 * len(packed) + 1) - 1) // 2
    matrix = np.empty((size, size), dtype=packed.dtype)
    start = 0
    for i in range(size):
        stop = start + size - i
        matrix[i, i:] = matrix[i:, i] = packed[start:stop]
        start = stop
    return matrix


def _trapezoid(packed: np.ndarray, width: int) -> np.ndarray:
    """Return the matrix of a width whose upper part is given row by row, and zero below."""
    height = (2 * width + 1 - math.isqrt((2 * width + 1) ** 2 - 8 * len(packed))) // 2
    matrix = np.zeros((height, width), dtype=packed.dtype)
    start = 0
    for i in range(height):
        stop = start + width - i
        matrix[i, i:] = packed[start:stop]
        start = stop
    return matrix


def _checksum(header: str, arrays: Mapping[str, np.ndarray]) -> str:
    value = zlib.crc32(header.encode())
    for name in sorted(arrays):
        value = zlib.crc32(described(name, arrays[name]), value)
        value = zlib.crc32(arrays[name].data, value)
    return f"{value:08x}"
