"""Reading JSON from a file, within limits."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from clsnet.storage.schema import Misfit

LONGEST = 32 << 20
MOST_VALUES = 1 << 20
"""Even an empty list takes some sixty bytes, where the text has three."""
DEEPEST = 64
NESTED = frozenset({list, dict})


def read_json(data: str | bytes, most: int = MOST_VALUES) -> Any:
    """Parse a JSON text; raise `Misfit` if it is too long, too deeply nested, or not JSON.

    Numbers outside the JSON standard, such as NaN, are refused.

    Parameters
    ----------
    data
        The text.
    most
        The largest number of values that it may hold.

    Examples
    --------
    >>> read_json('{"seed": 3}')
    {'seed': 3}
    >>> read_json("[" * 100_000)
    Traceback (most recent call last):
    ...
    clsnet.storage.schema.Misfit: it is nested too deeply
    """
    check_bounds(data, most)
    try:
        found = json.loads(data, parse_constant=_refuse)
    except RecursionError:
        raise Misfit("it is nested too deeply") from None
    except Misfit:
        raise
    except ValueError:  # not JSON, not UTF-8, or a number of thousands of digits
        raise Misfit("it is not JSON") from None
    _check_depth(found)
    return found


def check_bounds(data: str | bytes, most: int = MOST_VALUES) -> None:
    """Raise `Misfit` if a text is too long or, counted by punctuation, has more than `most` values.

    Examples
    --------
    >>> check_bounds("[" + "0," * 100, most=10)
    Traceback (most recent call last):
    ...
    clsnet.storage.schema.Misfit: it has more than 10 values
    """
    if len(data) > LONGEST:
        raise Misfit(f"it has more than {LONGEST:,} bytes")
    found = (
        (data.count(mark) for mark in "[{,")
        if isinstance(data, str)
        else (data.count(mark) for mark in b"[{,")
    )
    if sum(found) > most:
        raise Misfit(f"it has more than {most:,} values")


def _check_depth(found: Any) -> None:
    level: list[Any] = [[found]]
    for _ in range(DEEPEST):
        inner = [part.values() if type(part) is dict else part for part in level]
        nested = [parts for parts in inner if not NESTED.isdisjoint(map(type, parts))]
        level = [one for parts in nested for one in parts if one and type(one) in NESTED]
        if not level:
            return
    raise Misfit("it is nested too deeply")


def _refuse(constant: str) -> NoReturn:
    raise Misfit(f"it holds {constant}")
