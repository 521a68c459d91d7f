"""``clsnet sort``: sort photos into a folder for each class."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from clsnet.cli.allowing import AllowNetwork
from clsnet.errors import ClsnetError


def sort(
    model: Annotated[Path | None, typer.Argument(help="File of the model.")] = None,
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="PATH...", help="Photos and folders of photos.")
    ] = None,
    into: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder in which each class gets a folder.")
    ] = None,
    move: Annotated[
        bool, typer.Option("--move", help="Move photos instead of copying them.")
    ] = False,
    go: Annotated[bool, typer.Option("--go", help="Do it.")] = False,
    reject: Annotated[
        float,
        typer.Option(min=0, max=0.99, help="As for clsnet predict; with 0 nothing goes to unsure."),
    ] = 0.05,
    undo: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Undo the last sorting into this folder."),
    ] = None,
    allow_network: AllowNetwork = None,
) -> None:
    """Sort photos into one folder per class; photos that fit no class go to unsure.

    Without --go, it only prints what would be done with each photo. Nothing is overwritten: a name
    that is taken gets a number. Photos that cannot be read stay where they are, and the exit status
    is then 1. --undo moves photos back and removes unchanged copies.
    """
    if undo:
        if model or paths or into or move or go:
            raise ClsnetError("--undo takes the folder that was sorted into, and nothing else.")
        _undo(undo)
    elif not model or not paths or not into:
        raise ClsnetError("name a model, photos to sort, and a folder to sort them --into.")
    else:
        _sort(model, paths, into, move, go, reject, allow_network or [])


def _sort(
    model: Path,
    paths: list[Path],
    into: Path,
    move: bool,
    go: bool,
    reject: float,
    allow: list[str],
) -> None:
    from clsnet.cli.alike import grouped
    from clsnet.cli.console import PlainConsole
    from clsnet.cli.output import echo, say
    from clsnet.cli.showing import progress
    from clsnet.photos import sort as sort_photos
    from clsnet.photos.wording import many

    try:
        with progress(PlainConsole(stderr=True)) as report:
            done = sort_photos(
                model,
                paths,
                into,
                move=move,
                go=go,
                reject=reject,
                report=report,
                say=say,
                allow=allow,
            )
    except KeyboardInterrupt as stop:
        if so_far := str(stop):
            say(so_far)
        raise
    for photo in () if go else done.photos:
        sure = f"{photo.probability:.1%}" if photo.label else "none of these"
        echo(f"  {photo.source} -> {photo.target} ({sure})")
    verb = ("Moved" if move else "Copied") if go else ("Would move" if move else "Would copy")
    counts = Counter(photo.target.parent.name for photo in done.photos)
    for name, n in sorted(counts.items()):
        echo(f"{verb} {many(n, 'photo')} to {into / name}.")
    if done.known:
        echo(f"There already: {many(done.known, 'photo')}.")
    if not done.photos:
        echo("Nothing to sort.")
    elif go:
        echo(f"clsnet sort --undo {into} puts everything back.")
    else:
        echo("Nothing was done yet; add --go to do it.")
    for line in grouped(done.left):
        say(line)
    if done.left:
        say(f"{many(len(done.left), 'photo')} left in place.")
        raise typer.Exit(1)


def _undo(into: Path) -> None:
    from clsnet.cli.alike import grouped
    from clsnet.cli.output import echo, say
    from clsnet.photos import unsort
    from clsnet.photos.wording import many

    done = unsort(into, say=say)
    if done.back:
        echo(f"Moved {many(done.back, 'photo')} back.")
    if done.removed:
        echo(f"Removed {many(done.removed, 'copy', 'copies')}.")
    if not done.back and not done.removed:
        echo("Nothing was put back.")
    for line in grouped(done.kept):
        say(line)
    if done.kept:
        raise typer.Exit(1)
