"""``clsnet learn``: teach a model a folder of photos."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from clsnet.photos.estimate import Outcome

PAIRS = 5


def learn(
    model: Annotated[Path, typer.Argument(help="File of the model; made if it is not there.")],
    folder: Annotated[Path, typer.Argument(help="Holds one folder of photos for each class.")],
    backbone: Annotated[
        str | None,
        typer.Option(
            help="Frozen network of a new model: efficientnet-lite0 if not given, "
            "FILE.safetensors of clsnet pretrain, hf:NAME or timm:NAME."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be learned.")
    ] = False,
) -> None:
    """Learn the photos of a folder: new classes, or more of known ones.

    No photo is kept, only sums over each class. Files learned before are left out. A fifth of
    the new photos is held out first, to estimate how many the model will recognise, and then
    learned too. Until all is learned the model stays as it was; clsnet undo brings it back.
    """
    from rich.console import Console

    from clsnet.cli.showing import many, plain, progress, say
    from clsnet.photos import learn as learn_folder

    console = Console(soft_wrap=True, markup=False, highlight=False)
    try:
        with progress(console) as report:
            learned = learn_folder(
                model, folder, backbone=backbone, dry_run=dry_run, report=report, say=say
            )
    except KeyboardInterrupt:
        say(f"{model} is as it was.")
        raise
    for line in [*learned.unreadable, *learned.warnings]:
        say(line)
    if learned.unreadable:
        say(f"{many(len(learned.unreadable), 'photo')} could not be read: left out.")
    known = f"; {many(learned.known, 'photo')} known already" if learned.known else ""
    if not learned.counts:
        console.print(f"Nothing to learn{known}.")
        return
    for label, n in learned.counts.items():
        new = " (new)" if label in learned.new else ""
        console.print(f"  {plain(label)}: {many(n, 'photo')}{new}")
    total = many(sum(learned.counts.values()), "photo")
    verb = "Would learn" if dry_run else "Learned"
    console.print(f"{verb} {total} of {many(len(learned.counts), 'class')}{known}.")
    if not dry_run:
        _print(console, learned.outcome)
        console.print(f"Model: {plain(model)}")


def _print(console: Console, outcome: Outcome | None) -> None:
    from clsnet.cli.showing import many, plain

    if outcome is None:
        console.print("Too few photos or classes for an estimate of the accuracy.")
        return
    tested, right = sum(outcome.tested.values()), sum(outcome.right.values())
    held = f"{right} of {many(tested, 'photo')} held out"
    console.print(f"Estimated accuracy: {right / tested:.1%} ({held}).")
    for label, other, n in outcome.confused[:PAIRS]:
        of = many(outcome.tested[label], "photo")
        console.print(f"  {plain(label)} taken for {plain(other)}: {n} of {of}")
