"""``clsnet undo``: take back the last change of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def undo(model: Annotated[Path, typer.Argument(help="File of the model.")]) -> None:
    """Undo the last learn or forget; the second time, do it again."""
    from clsnet.cli.output import echo, say
    from clsnet.cli.showing import many, told
    from clsnet.photos import undo as take_back

    done = take_back(model, say=say)
    verb = "Done again" if done.again else "Undone"
    what = told(done.change) if done.change else f"forgot {many(done.forgotten, 'class')}"
    echo(f"{verb}: {what} ({done.date}).")
    names = ", ".join(done.classes) or "-"
    echo(f"{many(len(done.classes), 'class')} known: {names}.")
