"""A page of ``clsnet reproduce`` with every kind of part, from made-up answers."""

from pathlib import Path

from clsnet.evaluation.summaries import summarise
from clsnet.experiments.answer import (
    LEAKING,
    OURS,
    PUBLISHED,
    AccuracyCurves,
    Answer,
    Cell,
    Check,
    Costs,
    Line,
    Lines,
    MethodTable,
    Panel,
    Panels,
    Row,
    Table,
)
from clsnet.experiments.registry import find_experiment
from clsnet.reporting.folder import read_folder
from clsnet.reporting.html import check_page
from clsnet.reporting.reproduction import Reproduced, write_reproduction
from tests.reporting.runs import HOSTILE, Page

ODD = HOSTILE.replace("\x07", "")

TERMS = Table(
    "Terms of the objective",
    ("Avg Acc", "BWT", "FWT"),
    [
        Row("term 1", [Cell(0.2, 0.01), Cell(-0.9), Cell(0.0)], OURS),
        Row(f"terms {ODD}", [Cell(0.6, 0.02), Cell(-0.3), Cell()], OURS),
        Row("term 1 LEAKING", [Cell(0.93), Cell(-0.05), Cell(-0.02)], LEAKING),
        Row("term 1, as published", [Cell(0.1964), Cell(-0.9903), Cell(0.0004)], PUBLISHED),
    ],
    rows_are="Terms",
    note=f"A note {ODD}",
)
FIXED = Table("R", ("R1,1", "mean 1"), [Row("LTM", [Cell(0.5), Cell(text="kept")])], sortable=False)
LINES = Lines(
    "By γ",
    "γ",
    "average accuracy",
    [
        Line("ours", [1.0, 1e3, 1e6], [0.2, 0.6, 0.5], [0.01, 0.02, 0.03], OURS),
        Line("as published", [1.0, 1e6], [0.17, 0.68], (), PUBLISHED),
    ],
    log=True,
)
POINTS = Panels(
    "t-SNE",
    [
        Panel(f"after task {t}", [(0.1, 0.2), (0.9, 1.0), (0.5, 0.0)], [0, 1, 9])
        for t in range(1, 5)
    ],
    [f"class {ODD}" if c == 3 else str(c) for c in range(10)],
)


def write_page_of(folder: Path, output: Path, quick: bool = False) -> Page:
    """Write a page of three experiments and return what it holds."""
    found = summarise(read_folder(folder).runs)
    summaries = [s for s in found if s.sequence == "FashionMNIST-10/5"]
    published = Line("as published", [1, 2, 3, 4, 5], [0.9, 0.8, 0.7, 0.6, 0.5], (), PUBLISHED)
    parts = [
        MethodTable(summaries),
        Costs(summaries),
        AccuracyCurves("Curves", summaries, [published]),
    ]
    checks = [Check("It reaches 0.6.", False), Check("It leads.", True)]
    reproduced = [
        Reproduced(find_experiment("fashion-mnist"), Answer(checks, "Because.", parts, summaries)),
        Reproduced(
            find_experiment("terms"), Answer(checks[1:], ODD, [TERMS, FIXED, LINES, POINTS])
        ),
        Reproduced(find_experiment("imagenet"), Answer([], "No runs."), [f"ewc on {ODD}: no data"]),
    ]
    check_page(output)
    write_reproduction(output, reproduced, ["clsnet", "reproduce", "all", "-o", str(output)], quick)
    return Page(output.read_text(encoding="utf-8"))
