"""Grouping many lines of one kind into one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from clsnet.photos.wording import NAMED, listed

OPENINGS = {  # of one name, and of several
    "cannot read the image ": "cannot read the images ",
    "cannot read ": "cannot read ",
    "cannot put back ": "cannot put back ",
}


def grouped(lines: Iterable[str]) -> list[str]:
    """Return lines; many that differ only in names become one.

    The text after the first ``": "`` of a line is its kind; numbers in it do not matter.

    Examples
    --------
    >>> grouped(f"{name} has 2 photos: more would help" for name in "abcdef")
    ['a has 2 photos, b has 2 photos, c has 2 photos and 3 more: more would help']
    >>> grouped(["cat has 2 photos: more would help", "a link is not followed"])
    ['cat has 2 photos: more would help', 'a link is not followed']
    """
    kinds: dict[str, list[str]] = {}
    for line in lines:
        kinds.setdefault(re.sub(r"\d[\d,]*", "#", line.partition(": ")[2] or line), []).append(line)
    return [line for alike in kinds.values() for line in _told(alike)]


def _told(alike: list[str]) -> list[str]:
    if len(alike) <= NAMED:
        return alike
    parts = [line.partition(": ") for line in alike]
    tails = {tail for _, _, tail in parts}
    if tails == {""} or len(tails) > 1:
        return [f"{alike[0]} (and {len(alike) - 1:,} more like this)"]
    return [f"{_listed([head for head, _, _ in parts])}: {tails.pop()}"]


def _listed(heads: list[str]) -> str:
    """Return the first few heads; if all open with the same words, these come once."""
    for one, several in OPENINGS.items():
        if all(head.startswith(one) for head in heads):
            return several + listed([head.removeprefix(one) for head in heads])
    return listed(heads)
