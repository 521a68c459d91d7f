"""Declarations of what a file may hold, checked before its values are used."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SHOWN = 40
LONGEST = 10_000  # letters of a text, such as a label
LARGEST = 1e30
"""Numbers beyond this have no sensible square."""


class Misfit(ValueError):
    """A value that is not allowed; the message says which one, and what was found."""


@dataclass(frozen=True)
class Kind:
    """A kind of JSON values; ``a | b`` allows either.

    Parameters
    ----------
    name
        What to call it in a message.
    fits
        Given a value and where it is: whether it is of this kind. It may raise `Misfit` about a
        part of the value.

    Examples
    --------
    >>> (whole(1, 9) | NOTHING).check(12, "queue")
    Traceback (most recent call last):
    ...
    clsnet.storage.schema.Misfit: queue is 12, not a whole number from 1 to 9 or null
    """

    name: str
    fits: Callable[[Any, str], bool]

    def check(self, value: Any, where: str) -> None:
        """Raise `Misfit` unless the value is of this kind."""
        if not self.fits(value, where):
            raise Misfit(f"{where} is {shown(value)}, not {self.name}")

    def __or__(self, other: Kind) -> Kind:
        def fits(value: Any, where: str) -> bool:
            return any(_is(kind, value) for kind in (self, other))

        return Kind(f"{self.name} or {other.name}", fits)


NOTHING = Kind("null", lambda value, where: value is None)
FLAG = Kind("true or false", lambda value, where: isinstance(value, bool))
ANYTHING = Kind("a value", lambda value, where: True)


def whole(low: int, high: int) -> Kind:
    """Return the kind of whole numbers in a range."""
    return Kind(
        f"a whole number from {low} to {high}",
        lambda value, where: type(value) is int and low <= value <= high,
    )


def number(low: float = -LARGEST, high: float = LARGEST, *, above: bool = False) -> Kind:
    """Return the kind of numbers in a range; `above` excludes its lower end."""
    return Kind(
        f"a number {'above' if above else 'from'} {low:g} to {high:g}",
        lambda value, where: (
            type(value) in (int, float) and low <= value <= high and (value > low or not above)
        ),
    )


def text(longest: int = LONGEST, shortest: int = 0) -> Kind:
    """Return the kind of texts of a length."""
    return Kind(
        f"a text of {shortest} to {longest} letters",
        lambda value, where: isinstance(value, str) and shortest <= len(value) <= longest,
    )


def one_of(*values: Any) -> Kind:
    """Return the kind of these values; 1 is not True."""
    return Kind(
        f"one of {', '.join(map(repr, values))}",
        lambda value, where: any(type(value) is type(one) and value == one for one in values),
    )


def listed(item: Kind, most: int, least: int = 0) -> Kind:
    """Return the kind of lists of some length whose items are of a kind."""

    def fits(value: Any, where: str) -> bool:
        if not isinstance(value, (list, tuple)) or not least <= len(value) <= most:
            return False
        for i, one in enumerate(value):
            item.check(one, f"{where}[{i}]")
        return True

    length = f"{most}" if least == most else f"{least} to {most}"
    return Kind(f"a list of {length}", fits)


def row(*items: Kind) -> Kind:
    """Return the kind of lists that have one item of each kind, in this order."""

    def fits(value: Any, where: str) -> bool:
        if not isinstance(value, (list, tuple)) or len(value) != len(items):
            return False
        for i, (kind, one) in enumerate(zip(items, value, strict=True)):
            kind.check(one, f"{where}[{i}]")
        return True

    return Kind(f"a list of {len(items)}", fits)


def mapped(item: Kind, most: int = 10**6) -> Kind:
    """Return the kind of objects with any names whose values are of a kind."""

    def fits(value: Any, where: str) -> bool:
        if not isinstance(value, Mapping) or len(value) > most:
            return False
        for name, one in value.items():
            item.check(one, f"{where}[{shown(name)}]")
        return True

    return Kind(f"an object of at most {most}", fits)


def record(
    needed: Mapping[str, Kind], optional: Mapping[str, Kind] | None = None, *, closed: bool = True
) -> Kind:
    """Return the kind of objects with these names; if `closed`, no others are allowed.

    Examples
    --------
    >>> record({"seed": whole(0, 9)}).check({"seed": 3, "path": "x"}, "header")
    Traceback (most recent call last):
    ...
    clsnet.storage.schema.Misfit: header has an unknown 'path'
    """
    known = {**needed, **(optional or {})}

    def fits(value: Any, where: str) -> bool:
        if not isinstance(value, Mapping):
            return False
        if missing := needed.keys() - value.keys():
            raise Misfit(f"{where} has no {shown(min(missing))}")
        if closed and (unknown := value.keys() - known.keys()):
            raise Misfit(f"{where} has an unknown {shown(min(unknown, key=str))}")
        for name in known.keys() & value.keys():
            known[name].check(value[name], f"{where}.{name}")
        return True

    return Kind("an object", fits)


def arguments(function: Callable[..., Any], kinds: Mapping[str, Kind]) -> Kind:
    """Return the kind of objects that hold arguments of a function.

    The names, and which of them are required, follow from its signature; `kinds` says what each may
    be. An argument without a kind may be anything.

    Examples
    --------
    >>> def draw(size, seed=0): ...
    >>> arguments(draw, {"size": whole(1, 9)}).check({"seed": 3}, "draw")
    Traceback (most recent call last):
    ...
    clsnet.storage.schema.Misfit: draw has no 'size'
    """
    taken = inspect.signature(function).parameters.values()
    known = {one.name: kinds.get(one.name, ANYTHING) for one in taken}
    needed = {one.name: known[one.name] for one in taken if one.default is one.empty}
    return record(needed, known)


def check_arrays(
    arrays: Mapping[str, np.ndarray],
    shapes: Mapping[str, Sequence[int]],
    where: str = "",
    dtypes: Sequence[str] = ("float64", "float32"),
) -> None:
    """Raise `Misfit` unless there are arrays of exactly these names and shapes, of some type.

    A length of -1 stands for any length from 1 on.

    Examples
    --------
    >>> check_arrays({"omega": np.zeros((3, 2))}, {"omega": (-1, 4)})
    Traceback (most recent call last):
    ...
    clsnet.storage.schema.Misfit: omega has the shape (3, 2), not (-1, 4)
    """
    if missing := shapes.keys() - arrays.keys():
        raise Misfit(f"there is no {where}{min(missing)}")
    if unknown := arrays.keys() - shapes.keys():
        raise Misfit(f"there is an unknown {shown(where + min(unknown))}")
    for name, shape in shapes.items():
        found = arrays[name].shape
        alike = len(found) == len(shape) and all(
            own == length or (own > 0 > length) for own, length in zip(found, shape, strict=True)
        )
        if not alike:
            raise Misfit(f"{where}{name} has the shape {found}, not {tuple(shape)}")
        if arrays[name].dtype not in dtypes:
            raise Misfit(f"{where}{name} is of {arrays[name].dtype}, not of {' or '.join(dtypes)}")


def check_finite(arrays: Mapping[str, np.ndarray]) -> None:
    """Raise `Misfit` if an array holds a number that is not finite."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not math.isfinite(_span(array)):
            raise Misfit(f"{name} holds numbers that are not finite")


def shown(value: Any, most: int = SHOWN) -> str:
    """Return a value as a short text without control characters."""
    told = _outline(value) if isinstance(value, (Mapping, list, tuple)) else repr(value)
    return told if len(told) <= most else f"{told[:most]}..."


def _outline(value: Any) -> str:
    return f"{'an object' if isinstance(value, Mapping) else 'a list'} of {len(value)}"


def _is(kind: Kind, value: Any) -> bool:
    try:
        return kind.fits(value, "")
    except Misfit:
        return False


def _span(array: np.ndarray) -> float:
    """Return the distance of the largest from the smallest; NaN if one of them is not a number."""
    return float(array.max()) * 0.5 - float(array.min()) * 0.5 if array.size else 0.0
