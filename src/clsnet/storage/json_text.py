"""JSON of a file, in bounds."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from clsnet.storage.schema import Misfit

LONGEST = 32 << 20
MOST_PARTS = 1 << 20
"""Objects and lists; even an empty one takes some sixty bytes."""
DEEPEST = 64


def read_json(data: str | bytes, longest: int = LONGEST) -> Any:
    """Return what a JSON text holds, or raise `Misfit`: it is too long, too nested, or not JSON.

    Numbers that JSON does not know, such as NaN, are refused.

    Examples
    --------
    >>> read_json('{"seed": 3}')
    {'seed': 3}
    >>> read_json("[" * 100_000)
    Traceback (most recent call last):
    ...
    clsnet.storage.schema.Misfit: it is nested too deeply
    """
    if len(data) > longest:
        raise Misfit(f"it has more than {longest:,} bytes")
    lists, objects = ("[", "{") if isinstance(data, str) else (b"[", b"{")
    if data.count(lists) + data.count(objects) > MOST_PARTS:  # type: ignore[arg-type]
        raise Misfit(f"it has more than {MOST_PARTS:,} lists and objects")
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


def _check_depth(found: Any) -> None:
    level: list[Any] = [[found]]
    for _ in range(DEEPEST):
        inner = (part.values() if isinstance(part, dict) else part for part in level)
        level = [one for parts in inner for one in parts if isinstance(one, (dict, list))]
        if not level:
            return
    raise Misfit("it is nested too deeply")


def _refuse(constant: str) -> NoReturn:
    raise Misfit(f"it holds {constant}")
