"""The table of one sequence in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from clsnet.evaluation.comparison import Comparison
from clsnet.evaluation.protocol import DEMO
from clsnet.evaluation.store import check_writable
from clsnet.evaluation.summaries import Summary, summarise, told_apart
from clsnet.experiments.published import PAPER_HARDWARE, Row, paper_row
from clsnet.methods.registry import methods
from clsnet.reporting.differences import HEADING, difference_text, differences
from clsnet.reporting.folder import read_folder
from clsnet.reporting.forms import PIXELS, form_of
from clsnet.reporting.notes import notes
from clsnet.reporting.paper import published_accuracy
from clsnet.reporting.tables import number
from clsnet.storage.files import write_atomically

NONE = "–"
OPTIONAL = ("form", HEADING, "exemplars MB", "network MB")  # left out where no row has them
LEFT_OUT = (NONE, PIXELS)
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
    published = {}
    for name in dict.fromkeys(method.paper for method in known if method):
        row = paper_row(sequence, name)
        if name and row:
            published[name] = row
            rows.append({**dict.fromkeys(heads, NONE), **_published(sequence, name, row)})
    heads = [h for h in heads if h not in OPTIONAL or any(row[h] not in LEFT_OUT for row in rows)]
    lines = [_line(heads), "|---" + "|--:" * (len(heads) - 1) + "|"]
    lines += [_line(row[head] for head in heads) for row in rows]
    for note in notes(shown, found, published.values()):
        lines += ["", note]
    return "\n".join(lines) + "\n"


def _own(sequence: str, summary: Summary, found: Comparison | None, many_seeds: bool) -> Cells:
    title = f"**{summary.title}**" if summary.protocol == DEMO else summary.title
    spread = number(summary.spread("avg_acc") if len(summary.runs) > 1 else None)
    orders = {"± orders": spread, "orders": summary.orders}
    if many_seeds:
        orders = {"± runs": spread, "seeds × orders": f"{summary.n_seeds} × {summary.orders}"}
    return {
        "method": title if summary.sequence == sequence else f"{title} ({summary.sequence})",
        "form": form_of(summary),
        "Avg Acc": number(summary.mean("avg_acc")),
        HEADING: difference_text(found),
        **orders,
        "BWT": number(summary.mean("bwt")),
        "FWT": number(summary.mean("fwt")),
        "learn (s)": number(summary.mean("seconds", "learn"), 1),
        "on": ", ".join(summary.machines),
        "model MB": number(summary.mean("memory", "model_mb"), 2),
        "exemplars MB": number(summary.mean("memory", "exemplar_mb") or None, 2),
        "network MB": number(summary.network_mb or None, 2),
    }


def _published(sequence: str, name: str, row: Row) -> Cells:
    return {
        "method": f"*{name}, as published*",
        "Avg Acc": published_accuracy(sequence, row),
        "BWT": number(row.bwt),
        "FWT": number(row.fwt),
        "learn (s)": number(row.seconds, 1),
        "on": PAPER_HARDWARE,
        "model MB": number(row.model_mb, 2),
        "exemplars MB": number(row.exemplar_mb or None, 2),
    }


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
