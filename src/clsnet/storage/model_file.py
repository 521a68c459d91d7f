"""Models and sums on disk: safetensors with a JSON header, checked, written atomically."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clsnet.arrays.devices import Array, to_numpy
from clsnet.errors import ClsnetError
from clsnet.storage.files import write_atomically
from clsnet.storage.json_text import read_json
from clsnet.storage.schema import ANYTHING, Misfit, check_finite, mapped
from clsnet.storage.tensors import (
    Tensors,
    as_bytes,
    checksum,
    read_metadata,
    read_tensors,
    tensors_of,
)


@dataclass(frozen=True)
class Form:
    """A kind of file: its name in the metadata, its newest version, and its name in messages."""

    format: str
    version: int
    what: str


MODEL = Form("clsnet", 2, "a clsnet model")  # 1: a Gram matrix of every trace, no frozen network
SUMS = Form("clsnet-sums", 1, "a file of sums")
FORMS = (MODEL, SUMS)
TRIANGLE = "gram"
TRAPEZOID = "rows"


def numbers(name: str, array: Array) -> int:
    """Count the numbers that an array takes on disk; for a triangular one, those of its triangle.

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


def write(
    path: Path, header: dict[str, Any], arrays: Mapping[str, Array], form: Form = MODEL
) -> None:
    """Write a file: to a temporary one beside `path`, synced, then renamed."""
    write_atomically(path, to_bytes(header, arrays, form))


def to_bytes(header: dict[str, Any], arrays: Mapping[str, Array], form: Form = MODEL) -> bytes:
    """Return what `write` writes."""
    packed = {name: _pack(name, to_numpy(array)) for name, array in arrays.items()}
    text = json.dumps(header, default=lambda value: value.tolist())
    metadata = {
        "format": form.format,
        "version": str(form.version),
        "header": text,
        "checksum": checksum(text, packed),
    }
    return as_bytes(packed, metadata)


def form_of(path: Path) -> Form | None:
    """Return the kind of a file by its metadata, or None if clsnet did not write it."""
    try:
        found = read_metadata(path).get("format")
    except Misfit:
        return None
    return next((form for form in FORMS if form.format == found), None)


def read(path: Path, form: Form = MODEL) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a model or sums, or raise an error that says in one line why that is not possible.

    The header is an object of whatever JSON can hold, and all numbers of arrays are finite, but
    for infinities in a frozen network; nothing else is known of either.
    """
    return _checked(path, form, lambda: read_tensors(path))


def from_bytes(
    data: bytes, name: str, form: Form = MODEL
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read what `to_bytes` made, called by a name in messages, as `read` reads a file."""
    return _checked(Path(name), form, lambda: tensors_of(data))


def _checked(
    path: Path, form: Form, tensors: Callable[[], tuple[dict[str, str], Tensors]]
) -> tuple[dict[str, Any], Tensors]:
    try:
        metadata, packed = tensors()
        _check_version(path, metadata, form)
        text = metadata.get("header", "")
        if metadata.get("checksum") != checksum(text, packed):
            raise ClsnetError(f"{path} is damaged: its contents do not match its checksum.")
        header = read_json(text)
        mapped(ANYTHING).check(header, "the header")
        arrays = {name: _unpack(name, packed) for name in packed}
        check_finite({n: a for n, a in arrays.items() if not n.startswith("network.")})
        return header, arrays
    except Misfit as error:
        raise ClsnetError(f"{path} is damaged or not {form.what}: {error}.") from None


def _check_version(path: Path, metadata: Mapping[str, str], form: Form) -> None:
    if metadata.get("format") != form.format:
        known = [other.what for other in FORMS if other.format == metadata.get("format")]
        raise ClsnetError(f"{path} is {(known or ['a safetensors file'])[0]}, but not {form.what}.")
    version = metadata.get("version", "")
    if not (version.isascii() and version.isdigit()):
        raise Misfit("it does not tell its version")
    if int(version[:9]) > form.version:
        raise ClsnetError(
            f"{path} was written by a newer clsnet (format {version[:9]}, this one reads "
            f"up to {form.version}); upgrade clsnet to read it."
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
