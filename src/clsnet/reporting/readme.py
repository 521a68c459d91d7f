"""Write the tables of Markdown pages from result files: ``python -m clsnet.reporting.readme``."""

from __future__ import annotations

import json
import operator
import re
import sys
from functools import reduce
from pathlib import Path

from clsnet.errors import ClsnetError
from clsnet.evaluation.store import read_runs
from clsnet.evaluation.summaries import summarise
from clsnet.reporting.markdown import markdown_table

EXPERIMENTS = "reproduce"
"""Folder with the runs of `clsnet reproduce`, in no table that does not name it."""
COLUMNS = ("method", "Avg Acc", "BWT", "learn (s)", "on", "model MB", "exemplars MB")
"""Those of a table that shows some rows only."""
BLOCK = re.compile(r"(<!-- (\w+):([^>\n]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str, results: Path) -> str:
    """Fill the blocks of a page.

    ``<!-- table:[FOLDER/] SEQUENCE ... -->`` holds a whole table, ``<!-- rows:SEQUENCE: METHOD;
    ... -->`` some of its rows, and ``<!-- value:FILE:KEYS -->`` figures of one file.
    """
    kinds = {"table": _table, "rows": _rows, "value": _value}

    def fill(match: re.Match[str]) -> str:
        start, kind, what, end = match.groups()
        return start + kinds[kind](results, what) + end

    return BLOCK.sub(fill, text)


def _table(results: Path, sequences: str) -> str:
    sequence, *others = sequences.split()
    if sequence.endswith("/"):
        results = results / sequence
        sequence, *others = others
    found = summarise(read_runs(results, but=EXPERIMENTS))
    summaries = [s for s in found if s.sequence in (sequence, *others)]
    if not summaries:
        raise ClsnetError(f"{results} holds no run of {sequence}.")
    return markdown_table(sequence, summaries)


def _rows(results: Path, what: str) -> str:
    sequence, _, names = what.partition(": ")
    head, line, *body = map(_cells, _table(results, sequence).splitlines())
    by_method = {cells[0]: cells for cells in body if cells}
    missing = [name for name in names.split("; ") if name not in by_method]
    if missing:
        raise ClsnetError(f"The table of {sequence} has no row {missing[0]!r}.")
    places = [head.index(column) for column in COLUMNS if column in head]
    rows = [head, line, *(by_method[name] for name in names.split("; "))]
    return "".join("| " + " | ".join(row[i] for i in places) + " |\n" for row in rows)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []


def _value(results: Path, what: str) -> str:
    name, _, keys = what.rpartition(":")
    found = json.loads((results / name).read_text())
    value = found.get(keys)
    if "," in keys:
        paths = [key.split(".") for key in keys.split(",")]
        value = {
            " ".join(path).replace("_", " "): reduce(operator.getitem, path, found)
            for path in paths
        }
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
