"""``clsnet correct``: correct the class of photos."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clsnet.cli.allowing import AllowNetwork


def correct(
    model: Annotated[Path, typer.Argument(help="File of the model.")],
    photos: Annotated[
        list[Path],
        typer.Argument(metavar="PHOTO...", help="Photos and folders of photos, of one class."),
    ],
    label: Annotated[str, typer.Argument(metavar="CLASS", help="The right class.")],
    new: Annotated[bool, typer.Option("--new", help="Allow a new class.")] = False,
    allow_network: AllowNetwork = None,
) -> None:
    """Correct the class of photos, exactly as if they had been learned that way from the start.

    Photos that were learned as another class are moved; others are learned. The files must be the
    ones that were learned. clsnet undo reverts it.
    """
    from clsnet.cli.console import PlainConsole
    from clsnet.cli.output import echo, say
    from clsnet.cli.showing import progress
    from clsnet.photos import correct as correct_photos
    from clsnet.photos.wording import many

    with progress(PlainConsole(stderr=True)) as report:
        done = correct_photos(
            model, photos, label, new=new, report=report, say=say, allow=allow_network or ()
        )
    for old, n in done.moved.items():
        echo(f"Moved {many(n, 'photo')} from {old} to {done.label}.")
    if done.learned:
        echo(f"Learned {many(done.learned, 'photo')} as {done.label}.")
    if done.known:
        was = "was" if done.known == 1 else "were"
        echo(f"{many(done.known, 'photo')} {was} learned as {done.label} already.")
    for old in done.gone:
        echo(f"{old} has no photos left and was removed.")
    if done.moved or done.learned:
        echo(f"Model: {model}")
    else:
        echo("Nothing to correct.")
