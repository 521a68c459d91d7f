"""``clsnet serve``: an HTTP API for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clsnet.cli.allowing import AllowNetwork


def serve(
    model: Annotated[Path, typer.Argument(help="File of the model.")],
    host: Annotated[
        str,
        typer.Option(
            help="Host name or address to listen on; any other than this machine needs a token."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 chooses a free one.")
    ] = 0,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the token that programs have to send (Authorization: Bearer TOKEN)."
        ),
    ] = None,
    teach: Annotated[
        bool,
        typer.Option(
            "--teach", help="Let programs change the model, too; otherwise they can only ask."
        ),
    ] = False,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Number of processes that answer.")
    ] = 1,
    allow_network: AllowNetwork = None,
) -> None:
    """Serve the API of the page, for programs: POST /api/v1/predict and others.

    GET /api documents it. Photos are sent as multipart fields named file. Ctrl-C stops it.
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
