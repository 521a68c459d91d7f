"""``clsnet forget``: make a model forget classes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clsnet.cli.allowing import AllowNetwork


def forget(
    model: Annotated[Path, typer.Argument(help="File of the model.")],
    classes: Annotated[list[str], typer.Argument(metavar="CLASS...", help="Classes to forget.")],
    allow_network: AllowNetwork = None,
) -> None:
    """Forget classes: the weights become those of a model that never saw them.

    The threshold for none of these is not measured again.
    """
    from clsnet.cli.output import echo, say
    from clsnet.cli.showing import many
    from clsnet.photos import forget as forget_classes

    gone = forget_classes(model, classes, say=say, allow=allow_network or ())
    for label, n in gone.counts.items():
        echo(f"Forgot {label}: {many(n, 'photo')}, its sums and its files' digests.")
    echo(f"{many(len(gone.left), 'class')} left: {', '.join(gone.left) or '-'}.")
    echo(f"The file went from {gone.size_before:,} to {gone.size:,} bytes.")
    echo(f"{gone.before} still knows all, for clsnet undo: delete it to let nothing remain.")
