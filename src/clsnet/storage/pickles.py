"""Pickled batches of images, read without running any code in them."""

import io
import os
import pickle
import pickletools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from clsnet.errors import ClsnetError

MOST_STEPS = 600_000  # the largest set of labels and names, that of CIFAR-100, takes 500,000
MEMOS = ("PUT", "BINPUT", "LONG_BINPUT")
REFUSED = ("BYTEARRAY8", "NEXT_BUFFER", "EXT1", "EXT2", "EXT4")


def read_pickle(contents: bytes, name: str) -> dict[str, Any]:
    """Read a pickled dictionary of lists, strings and `uint8` arrays.

    Names in a pickle are looked up in a closed list of stand-ins that only hold values; a pickle
    that names anything else is refused.

    Parameters
    ----------
    contents
        The pickle, of any version of Python.
    name
        What to call it in a message.

    Examples
    --------
    >>> import pickle
    >>> import numpy as np
    >>> from clsnet.storage.pickles import read_pickle
    >>> batch = {"data": np.arange(4, dtype=np.uint8), "labels": [1, 2]}
    >>> read_pickle(pickle.dumps(batch, protocol=2), "batch")
    {'data': array([0, 1, 2, 3], dtype=uint8), 'labels': [1, 2]}
    >>> read_pickle(pickle.dumps({"labels": len}, protocol=2), "batch")
    Traceback (most recent call last):
        ...
    clsnet.errors.ClsnetError: batch is not a batch of images: it asks for __builtin__.len ...
    """
    try:
        file = io.BytesIO(contents)
        check_steps(file)
        value = _Reader(file, encoding="bytes").load()
        if not isinstance(value, dict):
            raise TypeError("it does not hold a dictionary")
        return {_text(key): _plain(item) for key, item in value.items()}
    except Exception as error:  # a damaged pickle raises nearly everything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ClsnetError(
            f"{name} is not a batch of images: {reason}; replace it by a good copy"
        ) from error


def check_steps(file: io.BytesIO) -> None:
    """Refuse a pickle whose steps take much more memory than it has bytes; go back to its start.

    Parameters
    ----------
    file
        At the start of a pickle.
    """
    start, length = file.tell(), file.seek(0, os.SEEK_END)
    file.seek(start)
    for number, (step, argument, _) in enumerate(pickletools.genops(file)):
        if number >= MOST_STEPS:
            raise ValueError(f"it has more than {MOST_STEPS:,} steps")
        if step.name in MEMOS and not 0 <= int(argument or 0) < length:
            raise ValueError("its memo is inconsistent")
        if step.name in REFUSED:
            raise ValueError(f"it has a step {step.name}")
    file.seek(start)


class RestrictedUnpickler(pickle.Unpickler):
    """Gives a pickle stand-ins for what it calls for, and refuses what has none."""

    stand_ins: Mapping[tuple[str, str], Any]

    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in of that name."""
        if (module, name) not in self.stand_ins:
            raise pickle.UnpicklingError(f"it asks for {module}.{name} to be run")
        return self.stand_ins[module, name]


class _Array:
    """Stands for an array until its values are there."""

    def __init__(self, *ignored: Any) -> None:
        pass

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.shape: tuple[int, ...]
        _, self.shape, self.kind, self.by_columns, self.values = state

    def array(self) -> npt.NDArray[np.uint8]:
        if not isinstance(self.kind, _Kind) or not isinstance(self.values, bytes):
            raise TypeError("it holds an array of other values than bytes")
        values = np.frombuffer(self.values, np.uint8)
        return values.reshape(self.shape[::-1]).T if self.by_columns else values.reshape(self.shape)


class _Kind:
    """Stands for the only type of values that images have."""

    def __init__(self, code: str | bytes, *ignored: Any) -> None:
        if code not in ("u1", b"u1"):
            raise TypeError(f"it holds values of type {code!r}, not u1")

    def __setstate__(self, ignored: Any) -> None:
        pass


# Nothing here can be changed by a pickle either: no plain function, whose defaults could be.
_STAND_INS: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): None,
    ("numpy", "dtype"): _Kind,
    ("__builtin__", "bytes"): "".encode,
    ("builtins", "bytes"): "".encode,
}


class _Encoder:
    """Encodes texts, all of them together as long as the pickle: each is in it once."""

    __slots__ = ("left",)

    def __init__(self, most: int) -> None:
        self.left = most

    def __call__(self, text: str, encoding: str) -> bytes:
        self.left -= len(text)
        if self.left < 0:
            raise ValueError("it holds more text than it has bytes")
        return text.encode(encoding)

    def __setstate__(self, ignored: Any) -> None:
        raise TypeError("it changes what it holds")


class _Reader(RestrictedUnpickler):
    stand_ins = _STAND_INS

    def __init__(self, file: io.BytesIO, encoding: str) -> None:
        super().__init__(file, encoding=encoding)
        self.stand_ins = {**_STAND_INS, ("_codecs", "encode"): _Encoder(len(file.getbuffer()))}


def _text(value: Any) -> str:
    return value.decode("latin1") if isinstance(value, bytes) else str(value)


def _plain(value: Any) -> Any:
    return value.array() if isinstance(value, _Array) else value
