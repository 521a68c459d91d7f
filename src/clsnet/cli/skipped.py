"""What the commands on data sets print of files that cannot be read, alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def tell_skipped(console: Console, lines: Sequence[str]) -> None:
    """Print a line about each file, and how many there are."""
    from clsnet.cli.showing import many, plain

    for line in lines:
        console.print(plain(line), style="yellow", markup=False, highlight=False, soft_wrap=True)
    if lines:
        be = "is" if len(lines) == 1 else "are"
        console.print(f"{many(len(lines), 'unreadable image')} {be} left out.")
