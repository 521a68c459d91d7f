"""The paper's table with our columns beside the paper's: what its rows and cells hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clsnet.methods.registry import methods
from clsnet.reporting.paper import TABLE, Row, paper_row
from clsnet.reporting.series import leaking, orders
from clsnet.reporting.tables import Summary, number

PAPER_HARDWARE = "RTX 3080 Ti"


@dataclass(frozen=True)
class Column:
    """A figure: its heading and unit, where a run holds it, where the paper's row does."""

    heading: str
    unit: str
    path: tuple[str, ...]
    field: str
    digits: int


COLUMNS = (
    Column("Avg Acc", "", ("avg_acc",), "avg_acc", 4),
    Column("BWT", "", ("bwt",), "bwt", 4),
    Column("FWT", "", ("fwt",), "fwt", 4),
    Column("Model", "MB", ("memory", "model_mb"), "model_mb", 2),
    Column("Exemplars", "MB", ("memory", "exemplar_mb"), "exemplar_mb", 2),
    Column("Learning", "s", ("seconds", "learn"), "seconds", 1),
)


@dataclass(frozen=True)
class Cell:
    """One figure; `value` is what the browser sorts by."""

    source: str
    value: float | None
    text: str
    spread: str = ""


@dataclass(frozen=True)
class TableRow:
    """A method: ours with its summary, or one that only the paper has, with its name."""

    kind: str
    name: str
    note: str
    cells: Sequence[Cell]
    hardware: str
    summary: Summary | None = None


@dataclass(frozen=True)
class SortableTable:
    """The table of one sequence."""

    sources: Sequence[str]
    rows: Sequence[TableRow]
    columns: Sequence[Column] = COLUMNS
    paper_hardware: str = PAPER_HARDWARE


def sortable(summaries: Sequence[Summary]) -> SortableTable:
    """Return the table of one sequence: our runs, then what only the paper has."""
    sequence = summaries[0].sequence
    rows, shown = [], set()
    for summary in summaries:
        method = methods().get(summary.method)
        published = paper_row(sequence, method.paper if method else None)
        if method and published:
            shown.add(method.paper)
        rows.append(_own(summary, published))
    missing = [(name, row) for name, row in TABLE.get(sequence, {}).items() if name not in shown]
    rows += [
        _published(name, row) for name, row in sorted(missing, key=lambda one: -one[1].avg_acc)
    ]
    return SortableTable(("ours", "paper") if sequence in TABLE else ("ours",), rows)


def _own(summary: Summary, published: Row | None) -> TableRow:
    cells = []
    for column in COLUMNS:
        spread = ""
        if column.path == ("avg_acc",) and len(summary.runs) > 1:
            spread = number(summary.spread("avg_acc"))
        cells.append(_cell("ours", summary.mean(*column.path), column.digits, spread))
        if summary.sequence in TABLE:
            cells.append(_cell("paper", getattr(published, column.field, None), column.digits))
    kind = "leaks" if leaking(summary) else "own" if summary.method == "clsnet" else "run"
    hardware = ", ".join(summary.machines)
    return TableRow(kind, summary.title, orders(summary), cells, hardware, summary)


def _published(name: str, row: Row) -> TableRow:
    cells = []
    for column in COLUMNS:
        cells.append(_cell("ours", None, column.digits))
        cells.append(_cell("paper", getattr(row, column.field), column.digits))
    return TableRow("published", name, "paper only", cells, PAPER_HARDWARE)


def _cell(source: str, value: float | None, digits: int, spread: str = "") -> Cell:
    return Cell(source, value, number(value, digits).replace("-", "−"), spread)
