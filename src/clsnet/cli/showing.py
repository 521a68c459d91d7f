"""Output that the photo commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clsnet.photos.evidence import covered, too_small, why_none
from clsnet.photos.wording import listed, many

if TYPE_CHECKING:
    from rich.console import Console

    from clsnet.photos.expectation import Expectation

PAIRS = 5
WORTH_TELLING = 0.01  # share of the photos of a class


def told_expectation(
    expectation: Expectation | None, counts: dict[str, int], keep: str, most: int | None = PAIRS
) -> list[str]:
    """Return lines about the estimated accuracy.

    Parameters
    ----------
    expectation
        The estimate.
    counts
        Photos of each class.
    keep
        What the model keeps sums of.
    most
        How many pairs of confused classes to name.
    """
    accuracy = None if expectation is None else expectation.accuracy(counts)
    if expectation is None or accuracy is None:
        return [why_none(counts, keep)]
    share, low, high = accuracy
    pairs = [pair for pair in expectation.confused if pair[2] >= WORTH_TELLING][:most]
    classes, few = covered(expectation.right, counts), too_small(counts)
    return [
        f"Estimated accuracy on new photos of {classes}: {share:.1%} ({low:.1%} to {high:.1%})",
        *([f"  too few photos for an estimate: {listed(few)}"] if few else []),
        *(f"  {part:.0%} of {label} would be taken for {other}" for label, other, part in pairs),
    ]


def told_classes(classes: Sequence[str], what: str) -> str:
    """Return a line that names classes.

    Examples
    --------
    >>> told_classes(["cat", "dog"], "left"), told_classes([], "left")
    ('2 classes left: cat, dog.', 'No classes left.')
    """
    if not classes:
        return f"No classes {what}."
    return f"{many(len(classes), 'class')} {what}: {', '.join(classes)}."


@contextmanager
def progress(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar with speed and time left while photos are read, in a terminal."""
    if not console.is_terminal:
        yield lambda stage, done, total: None
        return
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
    ) as shown:
        bars: dict[str, object] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in bars:
                bars[stage] = shown.add_task(stage, total=total)
            shown.update(bars[stage], completed=done)  # type: ignore[arg-type]

        yield report
