"""A model on disk: safetensors with a JSON header, versioned, checked, written atomically."""

from __future__ import annotations

import json
import math
import zlib
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from clsnet.errors import ClsnetError
from clsnet.storage.files import write_atomically

FORMAT = "clsnet"
VERSION = 2  # 1: a Gram matrix of every trace, and no frozen network
TRIANGLE = "gram"
TRAPEZOID = "rows"


def numbers(name: str, tensor: Tensor) -> int:
    """Count the numbers that a tensor takes on disk: of a triangular one, those not below it."""
    if _form(name) in (TRIANGLE, TRAPEZOID):
        return tensor.numel() - len(tensor) * (len(tensor) - 1) // 2
    return tensor.numel()


def write(path: Path, header: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write a model: to a temporary file beside `path`, synced, then renamed."""
    packed = {name: _pack(name, tensor).cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(header, default=lambda value: value.tolist())
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "header": text,
        "checksum": _checksum(text, packed),
    }
    write_atomically(path, safetensors.torch.save(packed, metadata=metadata))


def read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read a model, or say in one line why the file is not one."""
    try:
        path.open("rb").close()  # safetensors does not say why a file cannot be opened
        # As arrays: on the way to a tensor, torch would turn Ctrl-C into a ValueError.
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
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except ClsnetError:
        raise
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise ClsnetError(f"cannot read {path}: {reason}.") from None
    except Exception:
        raise ClsnetError(f"{path} is damaged or not a clsnet model.") from None
    packed = {name: torch.from_numpy(array) for name, array in arrays.items()}
    text = metadata.get("header", "")
    if metadata.get("checksum") != _checksum(text, packed):
        raise ClsnetError(f"{path} is damaged: its contents do not match its checksum.")
    return json.loads(text), {name: _unpack(name, packed) for name in packed}


def _form(name: str) -> str:
    """Return the last part of a name, but for those in somebody else's network."""
    return "" if name.startswith(("network.", "extractor.")) else name.rpartition(".")[2]


def _pack(name: str, tensor: Tensor) -> Tensor:
    if _form(name) not in (TRIANGLE, TRAPEZOID):
        return tensor
    return torch.cat([row[i:] for i, row in enumerate(tensor)])


def _unpack(name: str, packed: dict[str, Tensor]) -> Tensor:
    if _form(name) == TRIANGLE:
        return _triangle(packed[name])
    if _form(name) == TRAPEZOID:
        return _trapezoid(packed[name], len(packed[name.removesuffix(TRAPEZOID) + "cross"]))
    return packed[name].clone()  # into memory aligned for torch: a product rounds by its alignment


def _triangle(packed: Tensor) -> Tensor:
    """Return the symmetric matrix whose upper half is given row by row."""
    size = (math.isqrt(8 * len(packed) + 1) - 1) // 2
    matrix = torch.empty(size, size, dtype=packed.dtype)
    start = 0
    for i in range(size):
        stop = start + size - i
        matrix[i, i:] = matrix[i:, i] = packed[start:stop]
        start = stop
    return matrix


def _trapezoid(packed: Tensor, width: int) -> Tensor:
    """Return the matrix of a width whose upper part is given row by row, and zero below."""
    height = (2 * width + 1 - math.isqrt((2 * width + 1) ** 2 - 8 * len(packed))) // 2
    matrix = packed.new_zeros(height, width)
    start = 0
    for i in range(height):
        stop = start + width - i
        matrix[i, i:] = packed[start:stop]
        start = stop
    return matrix


def _checksum(header: str, tensors: dict[str, Tensor]) -> str:
    value = zlib.crc32(header.encode())
    for name in sorted(tensors):
        form = f"{name} {tensors[name].dtype} {tuple(tensors[name].shape)}"
        value = zlib.crc32(form.encode(), value)
        value = zlib.crc32(tensors[name].numpy().data, value)
    return f"{value:08x}"
