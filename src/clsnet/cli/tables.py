"""Tables whose figures are whole, however narrow the terminal is."""

from __future__ import annotations

from collections.abc import Collection, Sequence

NARROW = 60  # columns of a terminal, below which a row is a line


def print_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], figures: Collection[str]
) -> None:
    """Print a table; in a narrow terminal, a line for each row.

    Parameters
    ----------
    headers
        The names of the columns.
    rows
        The cells of each row; the first one is what the row is about.
    figures
        The columns that are never broken into lines.
    """
    from rich.table import Table

    from clsnet.cli.console import PlainConsole
    from clsnet.cli.output import echo, plain

    console = PlainConsole()
    if console.width < NARROW:
        for row in rows:
            echo(_line(headers, row))
        return
    table = Table()
    for header in headers:
        table.add_column(header, no_wrap=header in figures, overflow="fold")
    for row in rows:
        table.add_row(*map(plain, row))
    console.print(table)


def _line(headers: Sequence[str], row: Sequence[str]) -> str:
    """Return a row with the names of its cells.

    Examples
    --------
    >>> _line(["class", "photos", "right"], ["cat", "3", "100.0%"])
    'cat: photos 3, right 100.0%'
    """
    cells = [f"{header} {cell}" for header, cell in zip(headers[1:], row[1:], strict=True) if cell]
    return f"{row[0]}: {', '.join(cells)}" if row[0] else f"  {', '.join(cells)}"
