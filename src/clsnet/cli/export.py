"""``clsnet export``: write a model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clsnet.cli.allowing import AllowNetwork


def export(
    model: Annotated[Path, typer.Argument(help="File of the model.")],
    out: Annotated[Path, typer.Argument(help="ONNX file to write.")],
    allow_network: AllowNetwork = None,
) -> None:
    """Write a model as one ONNX file, which answers as clsnet predict does.

    It takes a decoded photo of any size, and gives probabilities, how familiar each photo is, and
    whether it is one of the known classes. Names of the classes, and how to prepare a photo, are
    in its metadata.
    """
    from clsnet.cli.output import echo
    from clsnet.photos import export as export_model
    from clsnet.photos.wording import many

    done = export_model(model, out, allow=allow_network or ())
    echo(f"Wrote {done.path}: {many(len(done.classes), 'class')}, {done.size:,} bytes.")
    echo("Input: images, a decoded photo of any size, bytes of shape (n, height, width, channels).")
    echo("Outputs: probabilities, familiarity, known.")
    if done.difference is None:
        echo("Not checked: that needs onnxruntime (pip install 'clsnet[export]').")
    else:
        echo(f"Checked: in ONNX Runtime probabilities differ by {done.difference:.0e} at most.")
