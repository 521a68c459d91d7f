"""``clsnet forget``: make a model forget classes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def forget(
    model: Annotated[Path, typer.Argument(help="File of the model.")],
    classes: Annotated[list[str], typer.Argument(metavar="CLASS...", help="Classes to forget.")],
) -> None:
    """Forget classes: the weights become those of a model that never saw them.

    The threshold for none of these is not measured again.
    """
    from clsnet.cli.showing import many, plain, say
    from clsnet.photos import forget as forget_classes

    gone = forget_classes(model, classes, say=say)
    for label, n in gone.counts.items():
        typer.echo(f"Forgot {plain(label)}: {many(n, 'photo')}, its sums and its files' digests.")
    typer.echo(f"{many(len(gone.left), 'class')} left: {', '.join(map(plain, gone.left)) or '-'}.")
    typer.echo(f"The file went from {gone.size_before:,} to {gone.size:,} bytes.")
    typer.echo(
        f"{plain(gone.before)} still knows all, for clsnet undo: delete it to let nothing remain."
    )
