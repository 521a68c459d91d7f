"""The report: one self-contained page, and its figures as files beside it."""

from __future__ import annotations

import re
import shlex
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from clsnet import __version__
from clsnet.evaluation.comparison import BEHIND, compare
from clsnet.evaluation.protocol import DEMO, PROTOCOLS
from clsnet.evaluation.summaries import Summary, summarise, told_apart
from clsnet.experiments.published import TABLE
from clsnet.reporting.figures import pictures
from clsnet.reporting.folder import Folder, read_folder
from clsnet.reporting.html import (
    check_page,
    files_of,
    readable,
    render_page,
    templates,
    write_page,
)
from clsnet.reporting.picture import Picture
from clsnet.reporting.series import curves, forgetting, is_bound, leaking, ordered
from clsnet.reporting.sortable import SortableTable, sortable
from clsnet.reporting.tables import number


@dataclass(frozen=True)
class Section:
    """What the page says of one sequence; `name` is its anchor."""

    name: str
    summaries: Sequence[Summary]
    figures: dict[str, Picture]

    @property
    def sequence(self) -> str:
        """The paper's name of the sequence."""
        return self.summaries[0].sequence

    @property
    def published(self) -> bool:
        """Whether the paper reports this sequence."""
        return self.sequence in TABLE

    @property
    def best(self) -> Summary | None:
        """The most accurate among those that did not leak and learned task by task."""
        return next(iter(self.learners), None)

    @property
    def learners(self) -> list[Summary]:
        """Those that did not leak and learned task by task, the most accurate first."""
        return [s for s in self.summaries if not leaking(s) and not is_bound(s)]

    @property
    def tied(self) -> list[Summary]:
        """Learners that were compared with the best and are not behind it for sure."""
        best, *others = self.learners
        found = ((other, compare(other.runs, best.runs)) for other in others)
        return [other for other, one in found if one is not None and one.verdict != BEHIND]

    @property
    def machines(self) -> list[str]:
        """What the runs were made on."""
        return list(dict.fromkeys(name for one in self.summaries for name in one.machines))

    @cached_property
    def table(self) -> SortableTable:
        """Our figures beside the paper's."""
        return sortable(self.summaries)

    @property
    def tasks(self) -> list[str]:
        """Headings of the tasks."""
        return [str(i + 1) for i in range(len(self.summaries[0].matrix()))]

    @property
    def accuracies(self) -> list[list[str]]:
        """Accuracy on all tasks so far, after each task, a row for each summary."""
        return [
            [f"{mean:.4f} ± {deviation:.4f}" for mean, deviation in zip(*curves(one), strict=True)]
            for one in self.summaries
        ]

    @property
    def losses(self) -> list[list[str]]:
        """Forgetting of each old task, and its mean, a row for each summary."""
        lost = [forgetting(summary.matrix()) for summary in self.summaries]
        return [
            [number(v).replace("-", "−") for v in [*row, statistics.fmean(row)]] for row in lost
        ]


def write_report(folder: Path, output: Path) -> list[str]:
    """Write the page, and its figures to ``<output>_files/``; say which files are left out.

    Parameters
    ----------
    folder
        Where runs lie, at any depth.
    output
        The page, such as ``report.html``.
    """
    found = read_folder(folder)
    check_page(output)
    text, drawn = render(found, folder, output)
    write_page(output, text, drawn)
    return found.broken


def render(found: Folder, folder: Path, output: Path) -> tuple[str, list[Picture]]:
    """Return the page and its figures, a section for each sequence."""
    templates()  # before figures are drawn, say if what the page needs is not installed
    by_sequence: dict[str, list[Summary]] = {}
    for summary in summarise(found.runs):
        by_sequence.setdefault(summary.sequence, []).append(summary)
    drawn: list[Picture] = []
    sections = []
    for number_, (sequence, summaries) in enumerate(by_sequence.items()):
        name = anchor(sequence)
        # Two sequences may differ only in what a file name cannot hold.
        name = f"{name}-{number_}" if any(p.name.startswith(f"{name}-") for p in drawn) else name
        summaries = told_apart(ordered(summaries))
        figures = pictures(name, summaries)
        drawn += figures.values()
        sections.append(Section(name, summaries, figures))
    text = render_page(
        "page.html",
        broken=[readable(reason) for reason in found.broken],
        sections=sections,
        folder=files_of(output).name,
        leaking_meaning=PROTOCOLS[DEMO].removeprefix("LEAKING: "),
        command=shlex.join(
            ["clsnet", "report", readable(str(folder)), "-o", readable(str(output))]
        ),
        runs=len(found.runs),
        version=__version__,
    )
    return text, drawn


def anchor(sequence: str) -> str:
    """Return the name of a sequence as files and links can have it.

    Examples
    --------
    >>> anchor("FashionMNIST-10/5")
    'fashionmnist-10-5'
    """
    return re.sub(r"[^a-z0-9]+", "-", sequence.lower()).strip("-") or "sequence"
