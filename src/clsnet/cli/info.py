"""``clsnet info``: what a model is, and what it keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def info(model: Annotated[Path, typer.Argument(help="File of the model.")]) -> None:
    """Tell what a model knows, what the file keeps in bytes, and what could be inferred from it."""
    from clsnet.cli.showing import many, plain, told
    from clsnet.photos import info as about

    known = about(model)
    typer.echo(f"{plain(model)}: {many(len(known.counts), 'class')}, {known.size:,} bytes")
    typer.echo(f"Photos are represented by {known.features:,} features of {known.backbone}.")
    if known.self_contained:
        typer.echo("The file is self-contained: all weights are in it.")
    else:
        typer.echo("The file refers to that network: its weights are not in it.")
    typer.echo("\nClasses")
    for label, n in known.counts.items():
        typer.echo(f"  {plain(label)}: {many(n, 'photo')}")
    typer.echo("\nHistory")
    for change in known.history:
        typer.echo(f"  {change.date}: {told(change)}")
    if known.accuracy is None:
        typer.echo("\nThe accuracy was never estimated: too few photos or classes.")
    else:
        typer.echo(
            f"\nEstimated accuracy: {known.accuracy:.1%} of the photos held out, each tested when "
            "it was learned, among the classes known then"
        )
    typer.echo("\nThe file keeps")
    for kind, size in known.kept.items():
        typer.echo(f"  {size:>14,} bytes  {kind}")
    typer.echo("\nWhat could be inferred from it")
    for line in known.inferable:
        typer.echo(f"  {plain(line)}")
