"""``clsnet forget``: make a model forget classes, or single photos."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clsnet.cli.allowing import AllowNetwork


def forget(
    model: Annotated[Path, typer.Argument(help="File of the model.")],
    classes: Annotated[
        list[str] | None, typer.Argument(metavar="CLASS...", help="Classes to forget.")
    ] = None,
    photos: Annotated[
        list[Path] | None,
        typer.Option(
            "--photo",
            metavar="PATH",
            help="A photo to forget, or a folder of them: the very file that was learned. May be "
            "given several times.",
        ),
    ] = None,
    purge: Annotated[
        bool,
        typer.Option(
            "--purge",
            help="Also remove the previous version and what a killed command left, so that nothing "
            "of the classes remains; then clsnet undo cannot bring them back.",
        ),
    ] = False,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Feature cache (clsnet bench --cache) from which to remove the features of "
            "the photos."
        ),
    ] = None,
    allow_network: AllowNetwork = None,
) -> None:
    """Forget classes; except for dates, the file becomes that of a model that never saw them.

    With --photo, forget single photos: the weights become those of a model that never saw them.
    """
    from clsnet.cli.console import PlainConsole
    from clsnet.cli.output import echo, say
    from clsnet.cli.showing import progress, told_classes
    from clsnet.photos import forget as forget_classes
    from clsnet.photos.wording import many

    with progress(PlainConsole(stderr=True)) as report:
        gone = forget_classes(
            model,
            classes or [],
            photos=photos or [],
            purge=purge,
            cache=cache,
            report=report,
            say=say,
            allow=allow_network or (),
        )
    for label, n in gone.counts.items():
        echo(f"Forgot {label}: {many(n, 'photo')}, its sums and its files' digests.")
    for label, n in gone.photos.items():
        last = "" if label in gone.left else ": the class has no photos left and was removed"
        echo(f"Forgot {many(n, 'photo')} of {label}{last}.")
    if cache:
        echo(f"Removed the cached features of {many(gone.cached, 'photo')}.")
    if gone.counts or gone.photos:
        echo(told_classes(gone.left, "left"))
        echo(f"The file went from {gone.size_before:,} to {gone.size:,} bytes.")
    for file in gone.removed:
        echo(f"Removed {file}.")
    if gone.before:
        echo(
            f"{gone.before} still holds the previous version, for clsnet undo; --purge removes it."
        )
    elif gone.removed:
        echo("No other file beside the model still holds what was forgotten.")
    else:
        echo("Nothing to remove: no other version lies beside the model.")
