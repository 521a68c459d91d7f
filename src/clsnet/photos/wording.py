"""Numbers and names in messages."""

from __future__ import annotations

from collections.abc import Sequence

NAMED = 3


def many(n: int, thing: str, things: str = "") -> str:
    """Return a number of things.

    Parameters
    ----------
    n
        How many.
    thing, things
        What one is called, and several if that does not follow.

    Examples
    --------
    >>> many(1, "class"), many(2_000, "class"), many(0, "photo"), many(2, "copy", "copies")
    ('1 class', '2,000 classes', '0 photos', '2 copies')
    """
    if n == 1:
        return f"1 {thing}"
    return f"{n:,} {things or thing + ('es' if thing.endswith('s') else 's')}"


def listed(names: Sequence[str], most: int = NAMED) -> str:
    """Return the first few names, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
