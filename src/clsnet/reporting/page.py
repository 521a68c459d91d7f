"""The report: one self-contained page, and its figures as files beside it."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
import statistics
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from clsnet import __version__
from clsnet.errors import ClsnetError
from clsnet.evaluation.protocol import DEMO, PROTOCOLS
from clsnet.evaluation.store import check_writable
from clsnet.reporting.commands import commands
from clsnet.reporting.figures import pictures
from clsnet.reporting.folder import Folder, read_folder
from clsnet.reporting.paper import TABLE
from clsnet.reporting.picture import Picture
from clsnet.reporting.series import BOUNDS, curves, forgetting, leaking, ordered, orders
from clsnet.reporting.sortable import LEAKING, name_of, sortable
from clsnet.reporting.tables import Summary, number, summarise, told_apart


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
    if not found.runs:
        why = f"{found.broken[0]}." if found.broken else "make one with: clsnet bench"
        raise ClsnetError(f"{folder} holds no finished run; {why}")
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
    by_sequence: dict[str, list[Summary]] = {}
    for summary in summarise(found.runs):
        by_sequence.setdefault(summary.sequence, []).append(summary)
    drawn: list[Picture] = []
    sections, links = [], []
    for number_, (sequence, summaries) in enumerate(by_sequence.items()):
        name = re.sub(r"[^a-z0-9]+", "-", sequence.lower()).strip("-") or "sequence"
        # Two sequences may differ only in what a file name cannot hold.
        name = f"{name}-{number_}" if any(p.name.startswith(f"{name}-") for p in drawn) else name
        summaries = told_apart(ordered(summaries))
        figures = pictures(name, summaries)
        drawn += figures.values()
        sections.append(_section(name, summaries, figures, f"{output.stem}_files"))
        links.append(f'<li><a href="#{name}">{escape(sequence)}</a></li>')
    css, js = (_asset(f"report.{kind}") for kind in ("css", "js"))
    text = Template(_asset("page.html")).substitute(
        policy=f"default-src 'none'; style-src {_hash(css)}; script-src {_hash(js)}; "
        "base-uri 'none'; form-action 'none'",
        css=css,
        js=js,
        contents=f'<nav aria-label="Sequences"><ul>{"".join(links)}</ul></nav>'
        if links[1:]
        else "",
        broken=_broken(found.broken),
        sections="\n".join(sections),
        command=_code(
            shlex.join(["clsnet", "report", _readable(str(folder)), "-o", _readable(str(output))])
        ),
        runs=_count(len(found.runs), "run"),
        version=escape(__version__),
    )
    return text, drawn


def _section(
    name: str, summaries: Sequence[Summary], figures: dict[str, Picture], beside: str
) -> str:
    def figure(key: str, heading: str, caption: str) -> str:
        return _figure(figures[key], beside, f"<h3>{heading}</h3>", caption)

    machines = dict.fromkeys(name for summary in summaries for name in summary.machines)
    published = " Hollow rings: as published by the paper." if _has_paper(summaries) else ""
    charts = figure(
        "accuracy",
        "Accuracy after each task",
        "Mean over class orders; the band is one standard deviation to either side.",
    )
    if "forgetting" in figures:
        charts += figure(
            "forgetting",
            "Forgetting",
            "Accuracy on a task just learned, less that after the last task; less is better.",
        )
    charts += figure(
        "memory",
        "Accuracy against memory",
        f"Model and exemplars together; up and left is better.{published}",
    )
    if "time" in figures:
        charts += figure(
            "time",
            "Accuracy against time",
            f"Measured on {escape('; '.join(machines))}: compare times of the same machine only."
            f"{published}",
        )
    matrices = "".join(
        _figure(figures[f"matrix-{i}"], beside, "", LEAKING if leaking(summary) else "")
        for i, summary in enumerate(summaries)
    )
    return Template(_asset("section.html")).substitute(
        name=name,
        sequence=escape(summaries[0].sequence),
        lead=_lead(summaries),
        leaking=_warning(summaries),
        table=sortable(summaries),
        charts=charts,
        matrices=matrices,
        numbers=_numbers(summaries),
        commands="".join(_commands(summary) for summary in summaries),
    )


def _lead(summaries: Sequence[Summary]) -> str:
    """Say in one sentence who won, among those who did not leak and learned task by task."""
    honest = [s for s in summaries if not leaking(s) and s.method not in BOUNDS]
    counted = _count(len(summaries), "method")
    if summaries[0].common:
        counted += f", all with {escape(' and '.join(summaries[0].common))}"
    if not honest:
        return f"{counted}, none of them an honest learner of one task after another."
    best = honest[0]
    spread = f" ± {number(best.spread('avg_acc'))}" if len(best.runs) > 1 else ""
    return (
        f"{counted}. The most accurate honest one is <strong>{name_of(best)}</strong>: "
        f"{number(best.mean('avg_acc'))}{spread} over {orders(best)}."
    )


def _warning(summaries: Sequence[Summary]) -> str:
    if not any(map(leaking, summaries)):
        return ""
    meaning = escape(PROTOCOLS[DEMO].removeprefix("LEAKING: "))
    return f'<p class="warning">{LEAKING}: {meaning}. Such figures compare with nothing else.</p>'


def _figure(picture: Picture, beside: str, heading: str, caption: str) -> str:
    links = " ".join(
        f'<a href="{escape(beside)}/{picture.name}.{kind}" aria-label="{kind.upper()} of '
        f'{picture.name}">{kind.upper()}</a>'
        for kind in ("svg", "png")
    )
    said = f"{caption} " if caption else ""
    return (
        f"<figure>{heading}{picture.inline()}"
        f'<figcaption>{said}<span class="files">{links}</span></figcaption></figure>'
    )


def _numbers(summaries: Sequence[Summary]) -> str:
    """Write the figures behind the curves and the forgetting as plain tables."""
    tasks = len(summaries[0].matrix())
    learned = [
        [f"{m:.4f} ± {s:.4f}" for m, s in zip(*curves(summary), strict=True)]
        for summary in summaries
    ]
    tables = _plain("Accuracy on all tasks so far, after task", summaries, learned)
    if tasks > 1:
        lost = [forgetting(summary.matrix()) for summary in summaries]
        cells = [
            [number(v).replace("-", "−") for v in [*row, statistics.fmean(row)]] for row in lost
        ]
        tables += _plain("Forgetting of task", summaries, cells, "mean")
    return tables


def _plain(
    caption: str, summaries: Sequence[Summary], cells: list[list[str]], last: str | None = None
) -> str:
    heads = [str(i + 1) for i in range(len(cells[0]))]
    heads = [*heads[:-1], last] if last else heads
    head = "".join(f'<th scope="col">{text}</th>' for text in ["Method", *heads])
    body = "".join(
        f'<tr><th scope="row">{name_of(summary)}</th>{"".join(f"<td>{c}</td>" for c in row)}</tr>'
        for summary, row in zip(summaries, cells, strict=True)
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{caption}"><table>'
        f"<caption><span>{caption}</span></caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _commands(summary: Summary) -> str:
    label = f" {LEAKING}" if leaking(summary) else ""
    return "".join(f"<li>{_code(one)}{label}</li>" for one in commands(summary))


def _code(command: str) -> str:
    """Write a command that is broken between its words only, not after each hyphen."""
    return f"<code>{' '.join(f'<span>{escape(word)}</span>' for word in command.split(' '))}</code>"


def _broken(reasons: Sequence[str]) -> str:
    if not reasons:
        return ""
    items = "".join(f"<li>{escape(_readable(reason))}</li>" for reason in reasons)
    return (
        '<aside class="warning" aria-label="Files left out"><p>Left out; move these files away to '
        f"run them again:</p><ul>{items}</ul></aside>"
    )


def _readable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _has_paper(summaries: Sequence[Summary]) -> bool:
    return summaries[0].sequence in TABLE


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _asset(name: str) -> str:
    return (files("clsnet.reporting") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return what a Content-Security-Policy lets pass: this text and nothing else."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
