"""Reporting files of data sets that cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clsnet.cli.console import PlainConsole


def tell_skipped(console: PlainConsole, lines: Sequence[str]) -> None:
    """Print a line about each file, and how many there are."""
    from clsnet.photos.wording import many

    for line in lines:
        console.tell(line, style="yellow")
    if lines:
        be = "is" if len(lines) == 1 else "are"
        console.tell(f"{many(len(lines), 'unreadable image')} {be} left out.")
