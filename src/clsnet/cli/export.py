"""``clsnet export``: write a model as ONNX."""

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
    """Write a model as one ONNX file that gives the same answers as clsnet predict.

    Its input is a decoded photo of any size. Its outputs are probabilities, how familiar the photo
    is, and whether it is one of the known classes. Its metadata hold the names of the classes and
    how to prepare a photo. For classes with more than 384 photos, photos that are close to being
    none of the known classes may be answered differently.
    """
    from clsnet.cli.output import echo
    from clsnet.photos import export as export_model
    from clsnet.photos.wording import many

    done = export_model(model, out, allow=allow_network or ())
    echo(f"Wrote {done.path}: {many(len(done.classes), 'class')}, {done.size:,} bytes.")
    echo("Input: images, a decoded photo of any size, bytes of shape (n, height, width, channels).")
    echo("Outputs: probabilities, familiarity, known.")
    if done.difference is None:
        echo("Not checked: the check needs onnxruntime (pip install 'clsnet[export]').")
    else:
        echo(f"Checked in ONNX Runtime: probabilities differ by at most {done.difference:.0e}.")
