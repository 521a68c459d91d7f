"""The table of one sequence in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from clsnet.evaluation.comparison import Comparison
from clsnet.evaluation.protocol import DEMO
from clsnet.evaluation.store import check_writable
from clsnet.methods.registry import methods
from clsnet.reporting.differences import HEADING, difference_text, differences
from clsnet.reporting.folder import read_folder
from clsnet.reporting.notes import notes
from clsnet.reporting.paper import PAPER_HARDWARE, Row, paper_row
from clsnet.reporting.tables import Summary, megabytes, number, summarise, told_apart
from clsnet.storage.files import write_atomically

NONE = "–"
OPTIONAL = (HEADING, "network MB")  # left out where no row has them
Cells = dict[str, str]


def write_tables(folder: Path, output: Path) -> list[str]:
    """Write a table for each sequence below a folder; say which files are left out."""
    found = read_folder(folder)
    by_sequence: dict[str, list[Summary]] = {}
    for summary in summarise(found.runs):
        by_sequence.setdefault(summary.sequence, []).append(summary)
    tables = [f"## {name}\n\n{markdown_table(name, by_sequence[name])}" for name in by_sequence]
    check_writable(output.parent)
    write_atomically(output, "\n".join(tables).encode())
    return found.broken


def markdown_table(sequence: str, summaries: Sequence[Summary]) -> str:
    """Return the table of a sequence, and what has to be said below it.

    Parameters
    ----------
    sequence
        Its name.
    summaries
        Runs of it, and of other sequences that are to stand beside them.
    """
    best_first = sorted(summaries, key=lambda s: (s.protocol == DEMO, -(s.mean("avg_acc") or 0)))
    shown = told_apart(best_first)
    found = differences(shown)
    many_seeds = any(summary.n_seeds > 1 for summary in shown)
    rows = [_own(sequence, *row, many_seeds) for row in zip(shown, found, strict=True)]
    heads = list(rows[0])
    known = (methods().get(summary.method) for summary in shown)
    for name in dict.fromkeys(method.paper for method in known if method):
        published = paper_row(sequence, name)
        if name and published:
            rows.append({**dict.fromkeys(heads, NONE), **_published(name, published)})
    heads = [h for h in heads if h not in OPTIONAL or any(row[h] != NONE for row in rows)]
    lines = [_line(heads), "|---" + "|--:" * (len(heads) - 1) + "|"]
    lines += [_line(row[head] for head in heads) for row in rows]
    for note in notes(shown, found):
        lines += ["", note]
    return "\n".join(lines) + "\n"


def _own(sequence: str, summary: Summary, found: Comparison | None, many_seeds: bool) -> Cells:
    title = f"**{summary.title}**" if summary.protocol == DEMO else summary.title
    size = summary.mean("memory", "model_mb"), summary.mean("memory", "exemplar_mb")
    spread = number(summary.spread("avg_acc") if len(summary.runs) > 1 else None)
    orders = {"± orders": spread, "orders": summary.orders}
    if many_seeds:
        orders = {"± runs": spread, "seeds × orders": f"{summary.n_seeds} × {summary.orders}"}
    return {
        "method": title if summary.sequence == sequence else f"{title} ({summary.sequence})",
        "Avg Acc": number(summary.mean("avg_acc")),
        HEADING: difference_text(found),
        **orders,
        "BWT": number(summary.mean("bwt")),
        "FWT": number(summary.mean("fwt")),
        "learn (s)": number(summary.mean("seconds", "learn"), 1),
        "on": ", ".join(summary.machines),
        "MB": megabytes(*size),
        "network MB": number(summary.network_mb or None, 2),
    }


def _published(name: str, row: Row) -> Cells:
    return {
        "method": f"*{name}, as published*",
        "Avg Acc": number(row.avg_acc),
        "BWT": number(row.bwt),
        "FWT": number(row.fwt),
        "learn (s)": number(row.seconds, 1),
        "on": PAPER_HARDWARE,
        "MB": megabytes(row.model_mb, row.exemplar_mb),
    }


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
