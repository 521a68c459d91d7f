"""The paper's table with our columns beside the paper's: what its rows and cells hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clsnet.evaluation.comparison import Comparison
from clsnet.evaluation.summaries import Summary
from clsnet.experiments.published import PAPER_HARDWARE, TABLE, Row, exceeded, paper_row
from clsnet.methods.registry import methods
from clsnet.reporting.differences import HEADING, differences, verdict_text
from clsnet.reporting.forms import FORMS, PIXELS, form_of
from clsnet.reporting.notes import notes
from clsnet.reporting.series import leaking, orders
from clsnet.reporting.tables import number


@dataclass(frozen=True)
class Column:
    """A figure: its heading and unit, and the field of the paper's row, if that has it."""

    heading: str
    unit: str
    field: str | None
    digits: int
    sources: Sequence[str] = ("ours",)


ACCURACY = Column("Avg Acc", "", "avg_acc", 4)
FORM = Column("Form", "", None, 0)
DIFFERENCE = Column(HEADING.capitalize(), "", None, 4)
NETWORK = Column("Network", "MB", None, 2)
COLUMNS = (
    FORM,
    ACCURACY,
    DIFFERENCE,
    Column("BWT", "", "bwt", 4),
    Column("FWT", "", "fwt", 4),
    Column("Model", "MB", "model_mb", 2),
    Column("Exemplars", "MB", "exemplar_mb", 2),
    NETWORK,
    Column("Learning", "s", "seconds", 1),
)
PATHS = {
    "model_mb": ("memory", "model_mb"),
    "exemplar_mb": ("memory", "exemplar_mb"),
    "seconds": ("seconds", "learn"),
}


@dataclass(frozen=True)
class Cell:
    """One figure; `value` is what the browser sorts by, `verdict` stands below it."""

    source: str
    value: float | None
    text: str
    spread: str = ""
    verdict: str = ""


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

    columns: Sequence[Column]
    rows: Sequence[TableRow]
    notes: Sequence[str]
    paper_hardware: str = PAPER_HARDWARE

    @property
    def published(self) -> bool:
        """Whether the paper reports this sequence."""
        return any("paper" in column.sources for column in self.columns)


def sortable(summaries: Sequence[Summary]) -> SortableTable:
    """Return the table of one sequence: our runs, then what only the paper has."""
    sequence = summaries[0].sequence
    found = differences(summaries)
    absent = [DIFFERENCE] if not any(found) else []
    absent += [FORM] if all(form_of(summary) == PIXELS for summary in summaries) else []
    absent += [NETWORK] if not any(summary.network_mb for summary in summaries) else []
    columns = [
        replace(column, sources=("ours", "paper")) if sequence in TABLE and column.field else column
        for column in COLUMNS
        if column not in absent
    ]
    rows, shown = [], set()
    for summary, difference in zip(summaries, found, strict=True):
        method = methods().get(summary.method)
        published = paper_row(sequence, method.paper if method else None)
        if method and published:
            shown.add(method.paper)
        rows.append(_own(columns, summary, difference, published))
    missing = [(name, row) for name, row in TABLE.get(sequence, {}).items() if name not in shown]
    rows += [
        _published(columns, sequence, name, row)
        for name, row in sorted(missing, key=lambda one: -one[1].avg_acc)
    ]
    return SortableTable(columns, rows, notes(summaries, found, TABLE.get(sequence, {}).values()))


def _own(
    columns: Sequence[Column],
    summary: Summary,
    difference: Comparison | None,
    published: Row | None,
) -> TableRow:
    cells = []
    for column in columns:
        if column.heading == DIFFERENCE.heading:
            cells.append(_difference(difference))
            continue
        if column.heading == FORM.heading:
            form = form_of(summary)
            cells.append(Cell("ours", FORMS.index(form), form))
            continue
        spread = ""
        if column.heading == ACCURACY.heading and len(summary.runs) > 1:
            spread = number(summary.spread("avg_acc"))
        cells.append(_cell("ours", _mean(summary, column), column.digits, spread))
        if "paper" in column.sources:
            cells.append(_of_paper(summary.sequence, published, column))
    kind = "leaks" if leaking(summary) else "own" if summary.method == "clsnet" else "run"
    hardware = ", ".join(summary.machines)
    return TableRow(kind, summary.title, orders(summary), cells, hardware, summary)


def _published(columns: Sequence[Column], sequence: str, name: str, row: Row) -> TableRow:
    cells = []
    for column in columns:
        cells += [_cell("ours", None, column.digits)]
        cells += [_of_paper(sequence, row, column)] if "paper" in column.sources else []
    return TableRow("published", name, "paper only", cells, PAPER_HARDWARE)


def _mean(summary: Summary, column: Column) -> float | None:
    if column.field is None:
        return summary.network_mb or None
    return summary.mean(*PATHS.get(column.field, (column.field,)))


def _of_paper(sequence: str, row: Row | None, column: Column) -> Cell:
    cell = _cell("paper", getattr(row, column.field or "", None), column.digits)
    bound = exceeded(sequence, row) if row and column.heading == ACCURACY.heading else None
    return cell if bound is None else replace(cell, verdict=f"at most {number(bound)}")


def _difference(found: Comparison | None) -> Cell:
    if found is None:
        return _cell("ours", None, 4)
    spread = "" if found.margin is None else number(found.margin)
    text = _minus(f"{found.difference:+.4f}")
    return Cell("ours", found.difference, text, spread, verdict_text(found))


def _cell(source: str, value: float | None, digits: int, spread: str = "") -> Cell:
    return Cell(source, value, _minus(number(value, digits)), spread)


def _minus(text: str) -> str:
    return text.replace("-", "−")
