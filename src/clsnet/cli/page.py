"""``clsnet page``: the photo tool in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clsnet.cli.allowing import AllowNetwork


def page(
    model: Annotated[
        Path,
        typer.Argument(help="File of the model; it is created when the first class is taught."),
    ] = Path("photos.clsnet"),
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 chooses a free one.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the link, and open no browser.")
    ] = False,
    allow_network: AllowNetwork = None,
) -> None:
    """Teach a model and ask it in the browser, on this machine only.

    The printed link works once, for one browser. Photos are sent to this process only, and none is
    kept. Other commands can use the same model meanwhile. Ctrl-C stops it.
    """
    from clsnet.cli.output import echo
    from clsnet.extras import needed

    for module in ("starlette", "uvicorn", "jinja2", "python_multipart"):
        needed(module, "the page", "page")
    from clsnet.page.launching import open_page

    def say(address: str) -> None:
        echo(f"Model: {model}")
        echo(f"Page: {address}")
        echo("Ctrl-C ends it.")

    open_page(model, port=port, browser=not no_browser, allow=allow_network or (), say=say)
