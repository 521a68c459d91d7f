"""The bytes of an ONNX file, which is a protocol buffer, without the package ``onnx``.

A message is a sequence of fields: a number and a kind in one integer, then a value. Whole numbers
have seven bits to a byte; text, arrays and messages begin with their length. Fields stay in parts
until all are joined, as networks are large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np

WHOLE, LONG, SINGLE = 0, 2, 5  # kinds of values
TYPES = {"f2": 10, "f4": 1, "u1": 2, "i1": 3, "i4": 6, "i8": 7, "b1": 9, "f8": 11}
FLOAT, INT, STRING, TENSOR = 1, 2, 3, 4  # types of attributes; of a list it is 5 more
Fields = list[bytes | memoryview]


def whole(number: int, value: int) -> Fields:
    """Return a field that holds a whole number.

    Examples
    --------
    >>> b"".join(whole(1, 300)).hex(" ")
    '08 ac 02'
    """
    return [_integer(number << 3 | WHOLE) + _integer(value)]


def single(number: int, value: float) -> Fields:
    """Return a field that holds a number in float32."""
    return [_integer(number << 3 | SINGLE) + np.float32(value).tobytes()]


def text(number: int, value: str | bytes) -> Fields:
    """Return a field that holds text.

    Examples
    --------
    >>> b"".join(text(2, "cat")).hex(" ")
    '12 03 63 61 74'
    """
    return message(number, [value.encode() if isinstance(value, str) else value])


def message(number: int, *fields: Fields) -> Fields:
    """Return a field that holds others."""
    parts = list(chain(*fields))
    return [_integer(number << 3 | LONG) + _integer(sum(map(len, parts))), *parts]


def tensor(name: str, value: np.ndarray) -> Fields:
    """Return the fields of a ``TensorProto``."""
    data = np.ascontiguousarray(value).reshape(-1).data.cast("B") if value.size else b""
    sides = chain(*(whole(1, side) for side in value.shape))
    return [*sides, *whole(2, _type(value.dtype)), *text(8, name), *message(9, [data])]


def node(
    operator: str, inputs: Iterable[str], outputs: Iterable[str], attributes: Mapping[str, Any]
) -> Fields:
    """Return the fields of a ``NodeProto``."""
    names = [*(text(1, name) for name in inputs), *(text(2, name) for name in outputs)]
    held = (message(5, text(1, name), _attribute(attributes[name])) for name in sorted(attributes))
    return [*chain(*names), *text(4, operator), *chain(*held)]


def value_info(name: str, dtype: Any, shape: Iterable[int | str | None] | None) -> Fields:
    """Return the fields of a ``ValueInfoProto``."""
    sides = [] if shape is None else message(2, *(message(1, _side(side)) for side in shape))
    return [*text(1, name), *message(2, message(1, whole(1, _type(dtype)), sides))]


def _type(dtype: Any) -> int:
    """Return the number of a type of NumPy among those of ONNX."""
    return TYPES[np.dtype(dtype).str[1:]]


def _side(side: int | str | None) -> Fields:
    if side is None:
        return []
    return text(2, side) if isinstance(side, str) else whole(1, side)


def _attribute(value: Any) -> Fields:
    """Return the fields of an ``AttributeProto`` after its name."""
    if hasattr(value, "SerializeToString"):
        return [*text(5, value.SerializeToString()), *whole(20, TENSOR)]
    several = isinstance(value, list | tuple)
    values = list(value) if several else [value]
    kind = _kind(values[0]) if values else INT
    number = kind + 6 if several else kind + 1
    return [*chain(*(HOW[kind](number, one) for one in values)), *whole(20, kind + 5 * several)]


def _kind(value: Any) -> int:
    if isinstance(value, str | bytes):
        return STRING
    return FLOAT if isinstance(value, float | np.floating) else INT


def _integer(value: int) -> bytes:
    """Return a whole number, the lowest seven bits first; a negative one as of 64 bits."""
    value = int(value) % (1 << 64)
    found = []
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


HOW: Mapping[int, Callable[[int, Any], Fields]] = {FLOAT: single, INT: whole, STRING: text}
