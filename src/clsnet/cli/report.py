"""``clsnet report``: finished runs as one page to read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of clsnet bench --out.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path(
        "report.html"
    ),
) -> None:
    """Make one self-contained HTML page of every run below a folder.

    Its figures are also written as SVG and PNG files, to a folder beside the page.
    """
    from clsnet.errors import ClsnetError

    try:
        from clsnet.reporting.page import write_report
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise ClsnetError("the report needs matplotlib: pip install 'clsnet[report]'") from None
    for reason in write_report(folder, output):
        typer.echo(f"clsnet: {reason}; left out.", err=True)
    typer.echo(f"Report: {output}")
