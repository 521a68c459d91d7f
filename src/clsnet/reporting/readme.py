"""Write the tables of Markdown pages from result files: ``python -m clsnet.reporting.readme``."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from clsnet.errors import ClsnetError
from clsnet.evaluation.protocol import DEMO
from clsnet.evaluation.store import read_runs
from clsnet.methods.registry import get_method
from clsnet.reporting.paper import paper_row
from clsnet.reporting.tables import Summary, megabytes, number, summarise, told_apart

BLOCK = re.compile(r"(<!-- (\w+):([^>\n]+) -->\n).*?(<!-- end -->)", re.DOTALL)
HEADS = ("method", "Avg Acc", "± orders", "orders", "BWT", "FWT", "learn (s)", "on", "MB")


def filled(text: str, results: Path) -> str:
    """Fill blocks ``<!-- table:[FOLDER/] SEQUENCE ... -->`` and ``<!-- value:FILE:KEYS -->``."""

    def fill(match: re.Match[str]) -> str:
        start, kind, what, end = match.groups()
        return start + (_table(results, what) if kind == "table" else _value(results, what)) + end

    return BLOCK.sub(fill, text)


def _table(results: Path, sequences: str) -> str:
    sequence, *others = sequences.split()
    if sequence.endswith("/"):
        results = results / sequence
        sequence, *others = others
    found = summarise(read_runs(results))
    summaries = [s for s in found if s.sequence in (sequence, *others)]
    if not summaries:
        raise ClsnetError(f"{results} holds no run of {sequence}.")
    order = sorted(summaries, key=lambda s: (s.protocol == DEMO, -(s.mean("avg_acc") or 0)))
    rows = told_apart(order)
    lines = ["| " + " | ".join(HEADS) + " |", "|---" + "|--:" * (len(HEADS) - 1) + "|"]
    for summary in rows:
        title, *cells = _cells(summary)
        if summary.sequence != sequence:
            title += f" ({summary.sequence})"
        lines.append("| " + " | ".join([title, *cells]) + " |")
    for name in dict.fromkeys(get_method(summary.method).paper for summary in rows):
        row = paper_row(sequence, name)
        if row is not None:
            figures = (number(row.avg_acc), "–", "–", number(row.bwt), number(row.fwt))
            cost = (number(row.seconds, 1), "RTX 3080 Ti", megabytes(row.model_mb, row.exemplar_mb))
            lines.append("| " + " | ".join([f"*{name}, as published*", *figures, *cost]) + " |")
    return "\n".join(lines) + "\n"


def _cells(summary: Summary) -> list[str]:
    return [
        f"**{summary.title}**" if summary.protocol == DEMO else summary.title,
        number(summary.mean("avg_acc")),
        number(summary.spread("avg_acc")) if len(summary.runs) > 1 else "–",
        str(len(summary.runs)),
        number(summary.mean("bwt")),
        number(summary.mean("fwt")),
        number(summary.mean("seconds", "learn"), 1),
        ", ".join(summary.machines),
        megabytes(summary.mean("memory", "model_mb"), summary.mean("memory", "exemplar_mb")),
    ]


def _value(results: Path, what: str) -> str:
    name, _, keys = what.rpartition(":")
    found = json.loads((results / name).read_text())
    value = found.get(keys)
    if "," in keys:
        value = {key.replace("_", " "): found[key] for key in keys.split(",")}
    if not isinstance(value, dict):
        return f"{value:.3f}\n"
    rows = {name: row if isinstance(row, dict) else {"": row} for name, row in value.items()}
    heads = [f"{head} " if head else "" for head in next(iter(rows.values()))]
    lines = ["| | " + "| ".join(heads) + "|", "|---" + "|--:" * len(heads) + "|"]
    lines += [" | ".join([f"| {k}", *(f"{v:.4g}" for v in rows[k].values())]) + " |" for k in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    folder, *pages = map(Path, sys.argv[1:])
    for page in pages:
        page.write_text(filled(page.read_text(), folder))
