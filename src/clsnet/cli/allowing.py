"""The option that allows networks to which a model's file refers."""

from __future__ import annotations

from typing import Annotated

import typer

AllowNetwork = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-network",
        metavar="NAME",
        help="A network that the file may refer to, such as hf:NAME, timm:NAME or "
        "FILE.safetensors; otherwise it is refused. May be repeated.",
    ),
]
