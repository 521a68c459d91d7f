"""``clsnet learn``: teach a model a folder of photos."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clsnet.cli.allowing import AllowNetwork

DOUBTS = 5

if TYPE_CHECKING:
    from clsnet.cli.console import PlainConsole
    from clsnet.photos.doubts import Doubt


def learn(
    model: Annotated[
        Path, typer.Argument(help="File of the model; it is created if it does not exist.")
    ],
    folder: Annotated[
        Path, typer.Argument(help="Folder that holds one folder of photos for each class.")
    ],
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="fast|best",
            help="For a new model: fast (the default) is EfficientNet-Lite0; best is "
            "EfficientNet-Lite0, 1 and 2 side by side, more accurate and about four times slower.",
        ),
    ] = None,
    backbone: Annotated[
        str | None,
        typer.Option(
            help="Another frozen network for a new model: FILE.safetensors of clsnet pretrain, "
            "hf:NAME or timm:NAME."
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="classes|total",
            help="For a new model: keep sums for each class, so that any class can be forgotten "
            "(the default), or only in total, which makes a smaller file.",
        ),
    ] = None,
    self_contained: Annotated[
        bool,
        typer.Option(
            "--self-contained",
            help="Also store the frozen network's weights in the file, from now on.",
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Learn nothing if the class of any photo looks wrong."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what would be learned.")
    ] = False,
    allow_network: AllowNetwork = None,
) -> None:
    """Learn the photos of a folder: new classes, or more photos of known ones.

    No photo is kept, only sums over the photos. Photos that were learned before are skipped. The
    accuracy is estimated from the sums, for all classes known by then. The model changes only when
    everything is learned; clsnet undo restores the previous version.
    """
    from clsnet.arrays.ranks import rank
    from clsnet.cli.alike import grouped
    from clsnet.cli.console import PlainConsole
    from clsnet.cli.output import say
    from clsnet.cli.showing import progress, told_expectation
    from clsnet.photos import learn as learn_folder
    from clsnet.photos.doubts import DoubtfulLabels
    from clsnet.photos.wording import many
    from clsnet.storage.files import at_home

    first = rank() == 0  # of several processes one speaks for all
    console = PlainConsole(quiet=not first)
    try:
        with progress(console) as report:
            learned = learn_folder(
                model,
                folder,
                backbone=backbone,
                preset=preset,
                keep=keep,
                self_contained=self_contained,
                strict=strict,
                dry_run=dry_run,
                report=report,
                say=say,
                allow=allow_network or (),
            )
    except KeyboardInterrupt:
        say(f"{model} is unchanged." if at_home(model).exists() else f"{model} was not created.")
        raise
    except DoubtfulLabels as error:
        _print_doubts(console, error.doubts, len(error.doubts))
        raise
    for line in grouped([*learned.unreadable, *learned.warnings]) if first else ():
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
        _print_doubts(console, learned.doubts, DOUBTS)
        for line in told_expectation(learned.expectation, learned.totals, learned.keep):
            console.tell(line)
        console.tell(f"Model: {model}")


def _print_doubts(console: PlainConsole, doubts: list[Doubt], most: int) -> None:
    """List photos whose class may be wrong."""
    from clsnet.photos.wording import many

    if not doubts:
        return
    console.tell(f"The class of {many(len(doubts), 'photo')} may be wrong:")
    for doubt in doubts[:most]:
        console.tell(f"  {doubt.path} in {doubt.label}: {doubt.why}")
    if len(doubts) > most:
        console.tell(f"  and {many(len(doubts) - most, 'other')} (--strict lists all)")
