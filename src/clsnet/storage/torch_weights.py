"""Weights in a file of ``torch.save``, read without torch and without running code."""

from __future__ import annotations

import io
import math
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clsnet.errors import ClsnetError
from clsnet.storage.pickles import RestrictedUnpickler, check_steps

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
LEGACY_VERSION = 1001
MOST_AXES = 8

State = dict[str, np.ndarray]


def read_torch_weights(path: Path) -> State:
    """Read a state dict that ``torch.save`` wrote, as a zip file or in the form before that.

    Names in its pickle are looked up in a closed list of stand-ins that only hold values. No array
    is created before its position in the file is checked. The arrays are read-only.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> read_torch_weights(Path("there-is-none.pth"))
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: cannot read the weights there-is-none.pth: No such file or directory.
    """
    try:
        contents = path.read_bytes()
    except OSError as error:
        raise ClsnetError(f"cannot read the weights {path}: {error.strerror}.") from None
    try:
        return _from_zip(contents) if contents[:2] == b"PK" else _from_legacy(contents)
    except Exception as error:  # a damaged file raises nearly everything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ClsnetError(
            f"{path} is not a file of weights: {reason}; replace it by a good copy."
        ) from None


class _Storage:
    """Stands for numbers that lie elsewhere in the file."""

    def __init__(self, key: str, dtype: str, length: int) -> None:
        self.key = key
        self.dtype = np.dtype(dtype)
        self.length = length

    def __setstate__(self, ignored: Any) -> None:
        raise TypeError("it changes what it holds")


class _Tensor:
    """Stands for a tensor until its numbers are there."""

    def __init__(
        self, storage: _Storage, offset: int, shape: Any, strides: Any, *ignored: Any
    ) -> None:
        self.storage = storage
        self.offset = offset
        self.shape = tuple(shape)
        self.strides = tuple(strides)

    def __setstate__(self, ignored: Any) -> None:
        raise TypeError("it changes what it holds")

    def array(self, numbers: np.ndarray) -> np.ndarray:
        lengths = (self.offset, *self.shape, *self.strides)
        if not all(type(length) is int and length >= 0 for length in lengths):
            raise ValueError("a tensor has lengths that are not whole numbers")
        if len(self.shape) != len(self.strides) or len(self.shape) > MOST_AXES:
            raise ValueError("a tensor has a wrong number of axes")
        steps = zip(self.shape, self.strides, strict=True)
        last = self.offset + sum((length - 1) * stride for length, stride in steps)
        size = math.prod(self.shape)
        if size > len(numbers) or (size and last >= len(numbers)):
            raise ValueError("a tensor is larger than what is stored of it")
        return np.lib.stride_tricks.as_strided(
            numbers[self.offset :],
            self.shape,
            tuple(stride * numbers.itemsize for stride in self.strides),
            writeable=False,
        )


_DTYPES = {
    "Float": "<f4",
    "Double": "<f8",
    "Half": "<f2",
    "Long": "<i8",
    "Int": "<i4",
    "Short": "<i2",
    "Char": "|i1",
    "Byte": "|u1",
    "Bool": "|b1",
}


class _Unpickler(RestrictedUnpickler):
    """Knows what the state dict of a network needs, and nothing else."""

    stand_ins: Mapping[tuple[str, str], Any] = {
        ("collections", "OrderedDict"): OrderedDict,
        ("torch._utils", "_rebuild_tensor_v2"): _Tensor,
        **{("torch", f"{name}Storage"): dtype for name, dtype in _DTYPES.items()},
    }

    def persistent_load(self, pid: Any) -> _Storage:
        kind, dtype, key, _, length, *view = pid
        if kind != "storage" or type(length) is not int or any(view):
            raise pickle.UnpicklingError("it refers to what is no plain storage")
        if not isinstance(key, str) or not isinstance(dtype, str) or dtype not in _DTYPES.values():
            raise pickle.UnpicklingError("it refers to a storage of an unknown kind")
        return _Storage(key, dtype, length)


def _unpickled(file: io.BytesIO) -> Any:
    check_steps(file)
    return _Unpickler(file).load()


def _from_zip(contents: bytes) -> State:
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        [root] = [n.removesuffix("data.pkl") for n in archive.namelist() if n.endswith("/data.pkl")]
        if f"{root}byteorder" in archive.namelist():
            _check(
                _member(archive, f"{root}byteorder") == b"little", "its bytes are in wrong order"
            )
        value = _unpickled(io.BytesIO(_member(archive, f"{root}data.pkl")))

        def numbers(storage: _Storage) -> np.ndarray:
            data = _member(archive, f"{root}data/{storage.key}")
            stored = storage.length * storage.dtype.itemsize
            _check(len(data) == stored, "a tensor's numbers are not all there")
            return np.frombuffer(data, storage.dtype)

        return _arrays(value, numbers)


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    plain = archive.getinfo(name).compress_type == zipfile.ZIP_STORED
    _check(plain, "it is compressed")  # and may be much larger than it looks
    return archive.read(name)


def _from_legacy(contents: bytes) -> State:
    file = io.BytesIO(contents)
    for expected in (LEGACY_MAGIC, LEGACY_VERSION):
        _check(_unpickled(file) == expected, "it was not written by torch.save")
    system = _unpickled(file)
    _check(system.get("little_endian") is True, "its bytes are in wrong order")
    value = _unpickled(file)
    keys = _unpickled(file)
    lengths = {
        tensor.storage.key: tensor.storage for tensor in value.values() if _is_tensor(tensor)
    }
    stored: dict[str, np.ndarray] = {}
    place = file.tell()
    for key in keys:
        storage = lengths[key]
        length = int.from_bytes(contents[place : place + 8], "little")
        _check(length == storage.length, "a tensor's numbers are not all there")
        place += 8
        stored[key] = np.frombuffer(contents, storage.dtype, length, place)
        place += stored[key].nbytes
    _check(place == len(contents), "it is longer than what it holds")
    return _arrays(value, lambda storage: stored[storage.key])


def _arrays(value: Any, numbers: Callable[[_Storage], np.ndarray]) -> State:
    _check(isinstance(value, dict), "it holds no dictionary")
    for name, tensor in value.items():
        _check(isinstance(name, str) and _is_tensor(tensor), "it holds more than tensors")
    return {name: tensor.array(numbers(tensor.storage)) for name, tensor in value.items()}


def _is_tensor(value: Any) -> bool:
    return isinstance(value, _Tensor) and isinstance(value.storage, _Storage)


def _check(condition: bool, reason: str) -> None:
    if not condition:
        raise ValueError(reason)
