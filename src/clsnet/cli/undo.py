"""``clsnet undo``: take back the last change of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def undo(model: Annotated[Path, typer.Argument(help="File of the model.")]) -> None:
    """Undo the last learn or forget; the second time, do it again."""
    from clsnet.cli.showing import many, plain, say, told
    from clsnet.photos import undo as take_back

    done = take_back(model, say=say)
    verb = "Done again" if done.again else "Undone"
    typer.echo(f"{verb}: {told(done.change)} ({done.change.date}).")
    names = ", ".join(map(plain, done.classes)) or "-"
    typer.echo(f"{many(len(done.classes), 'class')} known: {names}.")
