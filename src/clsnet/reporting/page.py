"""The report: one self-contained page, and its figures as files beside it."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from clsnet import __version__
from clsnet.errors import ClsnetError
from clsnet.evaluation.comparison import BEHIND, compare
from clsnet.evaluation.protocol import DEMO, PROTOCOLS
from clsnet.evaluation.store import check_writable
from clsnet.extras import needed
from clsnet.reporting.commands import commands
from clsnet.reporting.figures import pictures
from clsnet.reporting.folder import Folder, read_folder
from clsnet.reporting.paper import TABLE
from clsnet.reporting.picture import Picture
from clsnet.reporting.series import curves, forgetting, is_bound, leaking, ordered, orders
from clsnet.reporting.sortable import SortableTable, sortable
from clsnet.reporting.tables import Summary, number, summarise, told_apart


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
    if output.is_dir():
        raise ClsnetError(f"{output} is a folder; name a file, such as {output / 'report.html'}.")
    beside = output.parent / f"{output.stem}_files"
    check_writable(beside)
    text, drawn = render(found, folder, output)
    try:
        for picture in drawn:
            (beside / f"{picture.name}.svg").write_bytes(picture.svg)
            (beside / f"{picture.name}.png").write_bytes(picture.png)
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ClsnetError(f"cannot write {error.filename}: {error.strerror}.") from None
    return found.broken


def render(found: Folder, folder: Path, output: Path) -> tuple[str, list[Picture]]:
    """Return the page and its figures, a section for each sequence."""
    templates = _templates()
    by_sequence: dict[str, list[Summary]] = {}
    for summary in summarise(found.runs):
        by_sequence.setdefault(summary.sequence, []).append(summary)
    drawn: list[Picture] = []
    sections = []
    for number_, (sequence, summaries) in enumerate(by_sequence.items()):
        name = re.sub(r"[^a-z0-9]+", "-", sequence.lower()).strip("-") or "sequence"
        # Two sequences may differ only in what a file name cannot hold.
        name = f"{name}-{number_}" if any(p.name.startswith(f"{name}-") for p in drawn) else name
        summaries = told_apart(ordered(summaries))
        figures = pictures(name, summaries)
        drawn += figures.values()
        sections.append(Section(name, summaries, figures))
    css, js = (
        templates.loader.get_source(templates, f"report.{kind}")[0] for kind in ("css", "js")
    )
    command = ["clsnet", "report", _readable(str(folder)), "-o", _readable(str(output))]
    text = templates.get_template("page.html").render(
        policy=f"default-src 'none'; style-src {_hash(css)}; script-src {_hash(js)}; "
        "base-uri 'none'; form-action 'none'",
        css=css,
        js=js,
        broken=[_readable(reason) for reason in found.broken],
        sections=sections,
        folder=f"{output.stem}_files",
        leaking_meaning=PROTOCOLS[DEMO].removeprefix("LEAKING: "),
        command=shlex.join(command),
        runs=len(found.runs),
        version=__version__,
    )
    return text, drawn


def _templates() -> Any:
    """Return the folder of templates; whatever they are given is escaped."""
    jinja2 = needed("jinja2", "the report", "report")
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("clsnet.reporting"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    templates.globals.update(commands=commands, number=number, orders=orders)
    templates.tests["leaking"] = leaking
    return templates


def _readable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _hash(text: str) -> str:
    """Return what a Content-Security-Policy lets pass: this text and nothing else."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
