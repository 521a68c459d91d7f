"""Progress bars of long commands, each with its latest message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from clsnet.images import Report


def bars(console: Console) -> Progress:
    """Return bars with time elapsed and left; nothing is shown unless a terminal is there."""
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column

    whole = Column(no_wrap=True)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[said]}", markup=False),
        TimeElapsedColumn(whole),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True, table_column=whole),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


@contextmanager
def loading(console: Console) -> Iterator[Report]:
    """Yield a progress callback that shows one bar while a data set is loaded."""
    with bars(console) as progress:
        bar = progress.add_task("", total=None, said="")

        def report(stage: str, done: int, total: int) -> None:
            progress.update(bar, description=stage, completed=done, total=total or None)

        yield report
