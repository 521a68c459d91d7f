"""Write the tables of Markdown pages from result files: ``python -m clsnet.reporting.readme``."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from clsnet.errors import ClsnetError
from clsnet.evaluation.store import read_runs
from clsnet.reporting.markdown import markdown_table
from clsnet.reporting.tables import summarise

BLOCK = re.compile(r"(<!-- (\w+):([^>\n]+) -->\n).*?(<!-- end -->)", re.DOTALL)


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
    return markdown_table(sequence, summaries)


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
