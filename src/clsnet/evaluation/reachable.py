"""Every array that an object holds, directly or not."""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from clsnet.arrays.devices import to_numpy

NOT_FOLLOWED = (ModuleType, type, CodeType, BuiltinFunctionType, str, bytes)
PICKLE_PROTOCOL = 4
SHOWN = 8


@dataclass(frozen=True)
class ReachableArray:
    """One array: how it was reached, and the numbers that it takes.

    Attributes
    ----------
    path
        Where it was found first.
    place
        Address of the memory that it lies in.
    shape
        Its dimensions.
    most
        The numbers of the memory that it lies in, of which it may be a part.
    least
        The same, but for a symmetric matrix, or one that is zero below its diagonal, those of its
        upper triangle; 0 for integers in one dimension, which are labels and counts; four bytes
        of an image may count as one number.
    is_zero
        Whether it has elements, and all of them are zero.
    """

    path: str
    place: int
    shape: tuple[int, ...]
    most: int
    least: int
    is_zero: bool


@dataclass(frozen=True)
class Reachable:
    """All arrays that an object holds.

    Attributes
    ----------
    arrays
        Those that share no memory with one before.
    n_scalars
        Plain Python numbers that were found.
    """

    arrays: list[ReachableArray]
    n_scalars: int

    @property
    def least(self) -> int:
        """Numbers that have to be counted."""
        return sum(array.least for array in self.arrays)

    @property
    def most(self) -> int:
        """Numbers that can be counted."""
        return sum(array.most for array in self.arrays) + self.n_scalars

    def __str__(self) -> str:
        largest = sorted(self.arrays, key=lambda array: -array.least)[:SHOWN]
        shown = [f"{array.path} {'x'.join(map(str, array.shape))}" for array in largest]
        more = len(self.arrays) - len(largest)
        return ", ".join(shown) + (f" and {more} smaller arrays" if more else "")


def reachable_arrays(owner: object) -> Reachable:
    """Find all arrays of NumPy and torch that an object holds.

    Attributes, containers, closures, default arguments, bound methods and gradients are followed;
    modules and classes are not. What an object leaves out of its copies, by a ``__getstate__`` or
    ``__reduce__`` of its own, is not followed either.

    Examples
    --------
    >>> class Learner:
    ...     def __init__(self, rows):
    ...         self.last = rows[-1:]
    ...         self.predict = lambda X: X @ rows.T
    >>> found = reachable_arrays(Learner(np.ones((5, 3))))
    >>> found.least
    15
    >>> print(found)
    .last 1x3
    """
    found: dict[int, ReachableArray] = {}
    visited: dict[int, Any] = {}
    n_scalars = 0
    todo: list[tuple[str, Any]] = [("", owner)]
    while todo:
        path, thing = todo.pop()
        if isinstance(thing, (int, float)):
            n_scalars += 1
        elif id(thing) not in visited and not isinstance(thing, NOT_FOLLOWED):
            visited[id(thing)] = thing  # kept alive, so that its id stays its own
            if _is_array(thing):
                array = _array(path, thing)
                found.setdefault(array.place, array)
            todo.extend(reversed(list(_parts(path, thing))))
    return Reachable(list(found.values()), n_scalars)


def _parts(path: str, thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a thing refers to, each with its path."""
    if _is_tensor(thing):
        yield f"{path}.grad", thing.grad if thing.is_leaf else None
    elif isinstance(thing, np.ndarray):
        if thing.dtype == object:
            yield path, thing.tolist()
    elif isinstance(thing, dict):
        for key, value in thing.items():
            yield f"{path}[{key!r}]", value
            yield path, key
    elif isinstance(thing, (list, tuple)):
        for i, value in enumerate(thing):
            yield f"{path}[{i}]", value
    elif isinstance(thing, FunctionType):
        names = thing.__code__.co_freevars
        for name, cell in zip(names, thing.__closure__ or (), strict=True):
            yield f"{path}.<{name}>", cell
        yield path, [thing.__defaults__, thing.__kwdefaults__, thing.__dict__]
    else:
        try:
            copied = thing.__reduce_ex__(PICKLE_PROTOCOL)
        except Exception:  # whatever an object that cannot be copied may raise
            copied = None
        if isinstance(copied, tuple):
            yield path, copied[1]
            for state in copied[2:3]:
                yield from _attributes(path, state)
            for items in copied[3:5]:
                yield path, list(items or ())
        else:
            for value in gc.get_referents(thing):
                yield path, value


def _attributes(path: str, state: Any) -> Iterator[tuple[str, Any]]:
    parts = state if isinstance(state, tuple) else (state,)  # slots come as a second part
    for part in parts:
        if isinstance(part, dict):
            for name, value in part.items():
                yield f"{path}.{name}", value
        else:
            yield path, part


def _array(path: str, array: Any) -> ReachableArray:
    values = to_numpy(array)
    if _is_tensor(array):
        storage = array.untyped_storage()
        place, most = storage.data_ptr(), storage.nbytes() // array.element_size()
    else:
        whole = array
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        place, most = whole.__array_interface__["data"][0], whole.size
    is_float = values.dtype.kind in "fc"
    least = most if is_float or values.ndim > 1 else 0
    if values.dtype == np.uint8:
        least = -(-least // 4)
    if is_float and values.size == most and _is_half(values):
        n = min(values.shape)
        least = most - n * (n - 1) // 2
    is_zero = is_float and values.size > 0 and not values.any()
    return ReachableArray(path, place, tuple(array.shape), most, least, is_zero)


def _is_half(values: np.ndarray) -> bool:
    """Whether the upper triangle of a matrix says all."""
    if values.ndim != 2 or math.prod(values.shape) == 0:
        return False
    n = min(values.shape)
    below = np.tril(values, -1)
    square = values.shape == (n, n)
    return not below.any() or (square and np.array_equal(below, np.triu(values, 1).T))


def _is_array(thing: Any) -> bool:
    return isinstance(thing, np.ndarray) or _is_tensor(thing)


def _is_tensor(thing: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.Tensor)
