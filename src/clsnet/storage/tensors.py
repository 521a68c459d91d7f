"""Safetensors files, whose lengths are all checked before any array is read."""

from __future__ import annotations

import json
import math
import os
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from clsnet.errors import ClsnetError
from clsnet.storage.json_text import LONGEST, MOST_VALUES, check_bounds, read_json
from clsnet.storage.schema import Misfit, listed, mapped, one_of, record, row, text, whole

DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
MOST_TENSORS = 100_000
MOST_AXES = 8
LONGEST_EMPTY = 1 << 20
"""The other axes of an array that holds no number, whose lengths cost a file nothing."""
METADATA = "__metadata__"
TENSOR = record(
    {
        "dtype": one_of(*DTYPES),
        "shape": listed(whole(0, 2**48), MOST_AXES),
        "data_offsets": row(whole(0, 2**62), whole(0, 2**62)),
    }
)

ALIGNMENT = 8  # of the header's length

Tensors = dict[str, np.ndarray]


def as_bytes(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> bytes:
    """Return a safetensors file; the same contents are always the same bytes.

    Raises `ClsnetError` if it would hold more than `read_tensors` reads.

    Examples
    --------
    >>> len(as_bytes({"a": np.zeros(2)}, {"format": "clsnet"})) % 8
    0
    """
    data = safetensors.numpy.save(dict(tensors), metadata=dict(metadata))
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header[METADATA] = dict(metadata)  # safetensors writes it in a random order
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    try:
        check_bounds(text)
    except Misfit as error:
        raise ClsnetError(
            f"the contents do not fit in one file ({error}); nothing was saved."
        ) from None
    return b"".join([len(text).to_bytes(8, "little"), text, memoryview(data)[start:]])


def read_tensors(path: Path) -> tuple[dict[str, str], Tensors]:
    """Read the metadata and the arrays of a safetensors file.

    Raises `Misfit` if the file is not one, and `ClsnetError` if it cannot be opened.
    """
    with _opened(path) as (file, size):
        return _tensors(file, size)


def tensors_of(data: bytes) -> tuple[dict[str, str], Tensors]:
    """Return the metadata and the arrays of what `as_bytes` made; raises `Misfit` for others."""
    return _tensors(BytesIO(data), len(data))


def _tensors(file: BufferedReader | BytesIO, size: int) -> tuple[dict[str, str], Tensors]:
    start, metadata, infos = _header(file, size)
    arrays = {}
    for name, info in infos.items():
        file.seek(start + info["data_offsets"][0])
        array = np.empty(info["shape"], DTYPES[info["dtype"]])
        if file.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:
            raise Misfit("it is truncated")
        arrays[name] = array
    return metadata, arrays


def read_metadata(path: Path, what: str = "", most: int = MOST_VALUES) -> dict[str, str]:
    """Read only the metadata; raises as `read_tensors` does, naming the file as `what`.

    `most` is the number of values that the header may hold, of arrays too.
    """
    with _opened(path, what) as (file, size):
        return _header(file, size, most)[1]


@contextmanager
def _opened(path: Path, what: str = "") -> Iterator[tuple[BufferedReader, int]]:
    """Open a regular file; any other kind could be read from without end."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            reason = "Is a directory" if path.is_dir() else "Not a regular file"
            raise ClsnetError(f"cannot read {what}{path}: {reason}.")
        with path.open("rb") as file:
            yield file, os.fstat(file.fileno()).st_size
    except OSError as error:
        raise ClsnetError(f"cannot read {what}{path}: {error.strerror or error}.") from None


def described(name: str, array: np.ndarray) -> bytes:
    """Return name, type and shape of an array, as digests of arrays begin.

    Types have torch's names, so that digests of files written by version 0.1 still hold.

    Examples
    --------
    >>> described("omega", np.zeros((2, 1)))
    b'omega torch.float64 (2, 1)'
    """
    return f"{name} torch.{array.dtype} {array.shape}".encode()


def checksum(text: str, arrays: Mapping[str, np.ndarray]) -> str:
    """Return a checksum of a text and of all arrays, against accidental damage.

    Examples
    --------
    >>> checksum("header", {"a": np.zeros(2)}), checksum("header", {"a": np.ones(2)})
    ('f1e8a298', 'b2f6ed82')
    """
    value = zlib.crc32(text.encode())
    for name in sorted(arrays):
        value = zlib.crc32(described(name, arrays[name]), value)
        value = zlib.crc32(np.ascontiguousarray(arrays[name]).data, value)
    return f"{value:08x}"


def _header(
    file: BufferedReader | BytesIO, size: int, most: int = MOST_VALUES
) -> tuple[int, dict[str, str], Mapping[str, dict[str, Any]]]:
    """Return where numbers start, the metadata, and what each array is, all checked."""
    first = file.read(8)
    length = int.from_bytes(first, "little")
    if len(first) < 8 or not 0 < length <= size - 8:
        raise Misfit("it is not a safetensors file")
    if length > LONGEST:
        raise Misfit(f"its header has more than {LONGEST:,} bytes")
    found = read_json(file.read(length), most)
    record({}, closed=False).check(found, "its header")
    metadata = found.pop(METADATA, {})
    mapped(text(LONGEST)).check(metadata, METADATA)
    mapped(TENSOR, MOST_TENSORS).check(found, "its header")
    place = 0
    for name, info in sorted(found.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = info["data_offsets"]
        numbers = math.prod(info["shape"])
        if begin != place or end - begin != numbers * np.dtype(DTYPES[info["dtype"]]).itemsize:
            raise Misfit(f"the place of {name!r:.40} does not fit its shape")
        if not numbers and math.prod(filter(None, info["shape"])) > LONGEST_EMPTY:
            raise Misfit(f"{name!r:.40} has the shape {info['shape']} and no numbers")
        place = end
    if 8 + length + place != size:
        raise Misfit(f"it has {size:,} bytes, and its header tells of {8 + length + place:,}")
    return 8 + length, metadata, found
