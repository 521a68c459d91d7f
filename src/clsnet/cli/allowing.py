"""The option by which a person allows networks that a model's file refers to."""

from __future__ import annotations

from typing import Annotated

import typer

AllowNetwork = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-network",
        metavar="NAME",
        help="A network that the file may refer to, such as hf:NAME, timm:NAME or "
        "FILE.safetensors; it is refused otherwise. May be given several times.",
    ),
]
