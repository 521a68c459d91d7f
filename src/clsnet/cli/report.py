"""``clsnet report``: finished runs as one page to read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of clsnet bench --out.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The page to write; FILE.md holds the tables alone."),
    ] = Path("report.html"),
) -> None:
    """Make one self-contained HTML page from every run in a folder and below it.

    Its figures are also written as SVG and PNG files, to a folder beside the page. Runs of several
    seeds, and of methods on the same test samples, are put together wherever they lie below it.
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
