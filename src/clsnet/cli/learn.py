"""``clsnet learn``: teach a model a folder of photos."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clsnet.cli.allowing import AllowNetwork

if TYPE_CHECKING:
    from clsnet.cli.console import PlainConsole
    from clsnet.photos.estimate import Estimate

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
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="classes|total",
            help="Of a new model: sums over each class, so that any can be forgotten (if not "
            "given), or only over all in total, in a file that hardly grows.",
        ),
    ] = None,
    self_contained: Annotated[
        bool,
        typer.Option(
            "--self-contained",
            help="From now on hold the frozen network's weights in the file too.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be learned.")
    ] = False,
    allow_network: AllowNetwork = None,
) -> None:
    """Learn the photos of a folder: new classes, or more of known ones.

    No photo is kept, only sums over the photos. Files learned before are left out. A fifth of
    the new photos is held out first, to estimate how many the model will recognise, and then
    learned too. Until all is learned the model stays as it was; clsnet undo brings it back.
    """
    from clsnet.arrays.ranks import rank
    from clsnet.cli.console import PlainConsole
    from clsnet.cli.output import say
    from clsnet.cli.showing import many, progress
    from clsnet.photos import learn as learn_folder

    first = rank() == 0  # of several processes one speaks for all
    console = PlainConsole(quiet=not first)
    try:
        with progress(console) as report:
            learned = learn_folder(
                model,
                folder,
                backbone=backbone,
                keep=keep,
                self_contained=self_contained,
                dry_run=dry_run,
                report=report,
                say=say,
                allow=allow_network or (),
            )
    except KeyboardInterrupt:
        say(f"{model} is as it was.")
        raise
    for line in [*learned.unreadable, *learned.warnings] if first else ():
        say(line)
    if learned.unreadable and first:
        say(f"{many(len(learned.unreadable), 'photo')} could not be read: left out.")
    known = f"; {many(learned.known, 'photo')} known already" if learned.known else ""
    if not learned.counts:
        console.tell(f"Nothing to learn{known}.")
        return
    for label, n in learned.counts.items():
        new = " (new)" if label in learned.new else ""
        console.tell(f"  {label}: {many(n, 'photo')}{new}")
    total = many(sum(learned.counts.values()), "photo")
    verb = "Would learn" if dry_run else "Learned"
    console.tell(f"{verb} {total} of {many(len(learned.counts), 'class')}{known}.")
    if not dry_run:
        _print(console, learned.outcome)
        console.tell(f"Model: {model}")


def _print(console: PlainConsole, estimate: Estimate | None) -> None:
    from clsnet.cli.showing import many

    if estimate is None:
        console.tell("Too few photos or classes for an estimate of the accuracy.")
        return
    tested, right = sum(estimate.tested.values()), sum(estimate.right.values())
    held = f"{right} of {many(tested, 'photo')} held out"
    console.tell(f"Estimated accuracy: {right / tested:.1%} ({held}).")
    for label, other, n in estimate.confused[:PAIRS]:
        of = many(estimate.tested[label], "photo")
        console.tell(f"  {label} taken for {other}: {n} of {of}")
