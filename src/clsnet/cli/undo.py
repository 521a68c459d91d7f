"""``clsnet undo``: undo the last change of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def undo(model: Annotated[Path, typer.Argument(help="File of the model.")]) -> None:
    """Undo the last learn, correct, forget or merge; a second undo redoes it."""
    from clsnet.cli.output import echo, say
    from clsnet.cli.showing import told_classes
    from clsnet.photos import undo as take_back
    from clsnet.photos.telling import told_undone

    done = take_back(model, say=say)
    verb = "Done again" if done.again else "Undone"
    echo(f"{verb}: {told_undone(done)} ({done.date}).")
    echo(told_classes(done.classes, "known"))
