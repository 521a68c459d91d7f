"""``clsnet serve``: answer programs over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clsnet.cli.allowing import AllowNetwork


def serve(
    model: Annotated[Path, typer.Argument(help="File of the model.")],
    host: Annotated[
        str, typer.Option(help="Where to serve; any but this machine alone needs a token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where to serve; 0 is any that is free.")
    ] = 0,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with the token that programs have to send: Bearer TOKEN."),
    ] = None,
    teach: Annotated[
        bool, typer.Option("--teach", help="Let programs change the model; otherwise only ask.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that answer.")] = 1,
    allow_network: AllowNetwork = None,
) -> None:
    """Serve the API of the page alone, for programs: POST /api/v1/predict and so on.

    GET /api documents it. Photos are multipart fields named file, several at once. Ctrl-C ends it.
    """
    from clsnet.cli.output import echo
    from clsnet.extras import needed

    for module in ("starlette", "uvicorn", "jinja2", "python_multipart"):
        needed(module, "the server", "page")
    from clsnet.page.launching import serve as serve_model

    serve_model(
        model,
        host=host,
        port=port,
        token_file=token_file,
        teach=teach,
        workers=workers,
        allow=allow_network or (),
        say=lambda address: echo(f"Serving {model} at {address}; Ctrl-C ends it."),
    )
