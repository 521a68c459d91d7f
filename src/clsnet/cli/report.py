"""``clsnet report``: write a page about finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of clsnet bench --out.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The page to write; FILE.md gets the tables only."),
    ] = Path("report.html"),
) -> None:
    """Write one self-contained HTML page about all runs in a folder and its subfolders.

    Figures are also written as SVG and PNG files, to a folder beside the page. Runs of several
    seeds, and of methods on the same test samples, are combined wherever they are in the folder.
    """
    from clsnet.cli.output import echo, say
    from clsnet.errors import ClsnetError

    if output.suffix == ".md":
        from clsnet.reporting.markdown import write_tables

        broken = write_tables(folder, output)
    else:
        try:
            from clsnet.reporting.page import write_report
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "matplotlib":
                raise
            raise ClsnetError("the report needs matplotlib: pip install 'clsnet[report]'") from None
        broken = write_report(folder, output)
    for reason in broken:
        say(f"{reason}; left out.")
    echo(f"Report: {output}")
