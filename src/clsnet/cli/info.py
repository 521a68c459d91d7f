"""``clsnet info``: what a model is, and what it keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def info(model: Annotated[Path, typer.Argument(help="File of the model.")]) -> None:
    """Tell what a model knows, what its file keeps in bytes, and what could be inferred from it.

    It also names the files beside it that still tell of its past.
    """
    from clsnet.cli.output import echo
    from clsnet.cli.showing import many, told
    from clsnet.photos import info as about

    known = about(model)
    echo(f"{model}: {many(len(known.counts), 'class')}, {known.size:,} bytes")
    echo(f"Photos are represented by {known.features:,} features of {known.backbone}.")
    if known.self_contained:
        echo("The file is self-contained: all weights are in it.")
    else:
        echo("The file refers to that network: its weights are not in it.")
    echo()
    echo("Classes")
    for label, n in known.counts.items():
        echo(f"  {label}: {many(n, 'photo')}")
    echo()
    echo("History")
    for change in known.history:
        echo(f"  {change.date}: {told(change)}")
    echo()
    echo("The file keeps")
    for kind, size in known.kept.items():
        echo(f"  {size:>14,} bytes  {kind}")
    echo()
    echo("What could be inferred from it")
    for line in known.inferable:
        echo(f"  {line}")
    if known.beside:
        echo()
        echo("Beside it (clsnet forget --purge removes this)")
        for path in known.beside:
            what = "the version before the last change" if path.suffix == ".undo" else "unfinished"
            echo(f"  {path}: {what}")
