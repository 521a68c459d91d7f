"""The page of ``clsnet reproduce``: each claim of the paper beside what was found."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import matplotlib.style

from clsnet import __version__
from clsnet.evaluation.protocol import DEMO, PROTOCOLS
from clsnet.evaluation.summaries import Summary, told_apart
from clsnet.experiments.answer import (
    FAILS,
    HOLDS,
    LEAKING,
    OURS,
    PUBLISHED,
    UNMEASURED,
    UNTESTED,
    AccuracyCurves,
    Answer,
    Cell,
    Costs,
    Line,
    Lines,
    MethodTable,
    Panels,
    Part,
    Table,
)
from clsnet.experiments.registry import Experiment
from clsnet.reporting.figures import accuracy_curves, cost_figures
from clsnet.reporting.html import files_of, readable, render_page, write_page
from clsnet.reporting.lines import LookedLine, line_figure
from clsnet.reporting.panels import panels_figure
from clsnet.reporting.picture import Picture
from clsnet.reporting.series import ordered
from clsnet.reporting.sortable import sortable
from clsnet.reporting.style import ACCENT, INK, LEAK, MUTED, OTHERS, RC, Look
from clsnet.reporting.tables import number

MARKS = {HOLDS: "holds", FAILS: "fails"}  # classes of the style sheet
ROWS = {OURS: "own", LEAKING: "leaks", PUBLISHED: "published"}


@dataclass(frozen=True)
class Reproduced:
    """An experiment and its answer.

    Attributes
    ----------
    experiment, answer
        What was asked, and what was found.
    missing
        What is not there, and why.
    stopped
        Whether something kept it from being computed.
    """

    experiment: Experiment
    answer: Answer
    missing: Sequence[str] = ()
    stopped: bool = False

    @property
    def verdict(self) -> str:
        """Whether the claim holds, or why that is not known."""
        found = self.answer.verdict
        return UNTESTED if self.stopped and found == UNMEASURED else found


@dataclass(frozen=True)
class Shown:
    """A part of an answer as the template writes it: a table or pictures, under its heading."""

    kind: str
    value: Any
    pictures: Sequence[tuple[str, Picture]] = field(default=())


def write_reproduction(
    output: Path, reproduced: Sequence[Reproduced], command: Sequence[str], quick: bool
) -> None:
    """Write the page, and its figures to ``<output>_files/``.

    Parameters
    ----------
    output
        The page, such as ``page.html``.
    reproduced
        Experiments and what became of them.
    command
        The words of the command that makes the page.
    quick
        Whether the experiments were reduced, which the page then says.
    """
    drawn: list[Picture] = []
    sections = []
    for one in reproduced:
        parts = _joined([_shown(one, i, part) for i, part in enumerate(one.answer.parts)])
        drawn += [picture for part in parts for _, picture in part.pictures]
        sections.append((one, parts))
    text = render_page(
        "reproduction.html",
        sections=sections,
        marks=MARKS,
        quick=quick,
        folder=files_of(output).name,
        leaking_meaning=PROTOCOLS[DEMO].removeprefix("LEAKING: "),
        command=readable(shlex.join(command)),
        machines=_machines,
        seconds=_seconds,
        row_class=ROWS,
        written=written,
        version=__version__,
    )
    write_page(output, text, drawn)


def _joined(parts: Sequence[Shown]) -> list[Shown]:
    """Put figures that follow each other side by side."""
    joined: list[Shown] = []
    for part in parts:
        if part.kind == "figure" and joined and joined[-1].kind == "figure":
            before = joined.pop()
            part = replace(part, pictures=[*before.pictures, *part.pictures])
        joined.append(part)
    return joined


def _shown(one: Reproduced, place: int, part: Part) -> Shown:
    name = f"{one.experiment.name}-{place + 1}"
    draw: dict[type, Callable[[Any, str], Shown]] = {
        Table: lambda part, name: Shown("table", part),
        MethodTable: _method_table,
        Costs: _costs,
        AccuracyCurves: _curves,
        Lines: _lines,
        Panels: _panels,
    }
    return draw[type(part)](part, name)


def _method_table(part: MethodTable, name: str) -> Shown:
    summaries = told_apart(ordered(part.summaries))
    return Shown("methods", (summaries[0].sequence, sortable(summaries)))


def _costs(part: Costs, name: str) -> Shown:
    summaries = told_apart(ordered(part.summaries))
    found = cost_figures(name, summaries)
    return Shown("figure", None, [(f"Accuracy against {what}", p) for what, p in found.items()])


def _curves(part: AccuracyCurves, name: str) -> Shown:
    more = [_looked(line, i) for i, line in enumerate(part.published)]
    picture = accuracy_curves(name, told_apart(ordered(part.summaries)), more)
    return Shown("figure", None, [(part.caption, picture)])


def _lines(part: Lines, name: str) -> Shown:
    lines = [_looked(line, i) for i, line in enumerate(part.lines)]
    with matplotlib.style.context(["default", RC]):
        picture = line_figure(name, part.caption, lines, part.x, part.y, part.log)
    return Shown("figure", None, [(part.caption, picture)])


def _panels(part: Panels, name: str) -> Shown:
    return Shown("figure", None, [(part.caption, panels_figure(name, part))])


def _looked(line: Line, place: int) -> LookedLine:
    looks = {
        OURS: Look(ACCENT, ACCENT, width=2.2, weight="bold", marker="osD^"[place % 4]),
        LEAKING: Look(LEAK, LEAK, dash=(0, (4, 2)), marker="X"),
        PUBLISHED: Look(MUTED, MUTED, dash=(0, (1, 1.5)), marker="d"),
    }
    look = looks.get(line.kind, Look(OTHERS[place % len(OTHERS)], INK))
    points = (f"{y:.4f} at {x:g}" for x, y in zip(line.xs, line.ys, strict=True))
    tip = f"{line.label}: {', '.join(points)}"
    return LookedLine(line.label, line.xs, line.ys, line.spreads, look, tip)


def written(cell: Cell) -> str:
    """Write the figure of a cell.

    Examples
    --------
    >>> written(Cell(-0.0644)), written(Cell()), written(Cell(text="forgotten"))
    ('−0.0644', '–', 'forgotten')
    """
    return cell.text or number(cell.value, cell.digits).replace("-", "−")


def _machines(summaries: Sequence[Summary]) -> str:
    names = (name for summary in summaries for name in summary.machines)
    return ", ".join(dict.fromkeys(names))


def _seconds(summaries: Sequence[Summary]) -> float:
    """Return how long all runs took, learning and predicting."""
    runs = (run["seconds"] for summary in summaries for run in summary.runs)
    return float(sum(run["learn"] + run.get("predict", 0.0) for run in runs))
