"""What the commands for photos print, alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from clsnet.photos.record import Change


def many(n: int, thing: str) -> str:
    """Return a number of things."""
    if n == 1:
        return f"1 {thing}"
    return f"{n:,} {thing}{'es' if thing.endswith('s') else 's'}"


def told(change: Change) -> str:
    """Return a change as a part of a sentence."""
    photos = many(sum(change.counts.values()), "photo")
    return f"learned {photos} of {many(len(change.counts), 'class')} from {change.folder}"


@contextmanager
def progress(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar with rate and time left while photos are read."""
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Task as Bar
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Bar) -> Text:
            return Text(f"{task.speed:,.0f} photos/s" if task.speed else "")

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.completed} of {task.total}", markup=False),
        Rate(),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as shown:
        bars: dict[str, object] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in bars:
                bars[stage] = shown.add_task(stage, total=total)
            shown.update(bars[stage], completed=done)  # type: ignore[arg-type]

        yield report
