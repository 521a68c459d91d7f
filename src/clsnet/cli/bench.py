"""``clsnet bench``: learn a task sequence and print what the paper prints."""

from __future__ import annotations

import ast
import enum
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clsnet.cli.bars import bars
from clsnet.errors import ClsnetError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.progress import TaskID

    from clsnet.cli.console import PlainConsole
    from clsnet.data import TaskSequence
    from clsnet.evaluation.harness import Job
    from clsnet.evaluation.pool import Finished
    from clsnet.reporting.tables import Summary


class Preset(enum.StrEnum):
    """Features for images."""

    fast = enum.auto()
    best = enum.auto()
    small = enum.auto()


class Protocol(enum.StrEnum):
    """How test samples are shown."""

    agnostic = enum.auto()
    demo = enum.auto()


def bench(
    sequence: Annotated[
        str,
        typer.Argument(
            metavar="SEQUENCE",
            help="Task sequence, such as FashionMNIST-10/5, or folder:PATH/T for all classes of a "
            "folder of images in T tasks.",
        ),
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(help="Method; may be repeated; clsnet if none is given."),
    ] = None,
    orders: Annotated[
        int,
        typer.Option(min=1, help="Random class orders; one is enough where they do not matter."),
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of orders and models.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for results, one JSON file a run.")] = Path(
        "runs"
    ),
    preset: Annotated[
        Preset, typer.Option(help="Features of clsnet and the analytic methods for images.")
    ] = Preset.fast,
    protocol: Annotated[
        Protocol,
        typer.Option(help="agnostic is honest; demo re-creates the authors' leaking evaluation."),
    ] = Protocol.agnostic,
    tune: Annotated[
        bool,
        typer.Option(
            "--tune",
            help="First choose a method's options on held-out training data of all tasks, which "
            "are thus seen before the first one is learned. Grids grow until the choice lies "
            "inside them.",
        ),
    ] = False,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Option of the methods, such as views=8; may be repeated.",
        ),
    ] = None,
    backbone: Annotated[
        str | None,
        typer.Option(
            help="Frozen network: efficientnet-lite0, FILE.safetensors of clsnet pretrain, "
            "hf:NAME or timm:NAME."
        ),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder to keep the network's outputs in, for other runs.")
    ] = None,
    allow_seen: Annotated[
        bool,
        typer.Option("--allow-seen", help="Test on classes that the network was pretrained on."),
    ] = False,
    data: Annotated[
        Path | None, typer.Option(help="Folder that holds the data set's files.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at a folder's first unreadable image.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Runs side by side; as many as cores if not given.")
    ] = None,
) -> None:
    """Learn a task sequence with one or more methods, and compare with the paper.

    Finished runs are kept in --out; the same command goes on where it was stopped.
    """
    from clsnet.arrays.ranks import n_ranks, rank
    from clsnet.cli.console import PlainConsole
    from clsnet.cli.skipped import tell_skipped
    from clsnet.data import load_sequence
    from clsnet.evaluation.harness import Job, check_backbone, check_protocol, network_digest
    from clsnet.evaluation.pretrained_classes import check_not_pretrained
    from clsnet.evaluation.store import check_writable
    from clsnet.methods import check_options, get_method
    from clsnet.reporting.tables import summarise

    console = PlainConsole(quiet=rank() > 0)
    options = dict(_parsed(text) for text in option or ())
    chosen = [get_method(name) for name in dict.fromkeys(method or ["clsnet"])]
    if backbone:
        options["backbone"] = backbone
    for one in chosen:
        check_protocol(one, protocol)
        if backbone:
            check_backbone(one)
        check_options(one, options, preset)
    check_writable(out)
    with bars(console) as progress:
        bar = progress.add_task("", total=None, said="")

        def report(stage: str, done: int, total: int) -> None:
            progress.update(bar, description=stage, completed=done, total=total or None)

        tasks = load_sequence(sequence, data, report, strict)
        progress.remove_task(bar)
    tell_skipped(console, tasks.dataset.skipped)
    seeing = [one for one in chosen if "backbone" in options or one.presets]
    frozen = options.get("backbone", "auto")
    if seeing and not allow_seen:
        check_not_pretrained(frozen, tasks, seed)
    network = network_digest(frozen, tasks) if seeing else None
    todo = [
        Job(
            method=one.name,
            index=index,
            seed=seed,
            preset=preset if one.presets else None,
            protocol=protocol,
            tune=tune,
            out=out,
            options=tuple(options.items()),
            cache=cache,
            network=network if one in seeing else None,
        )
        for one in chosen
        for index in range(orders)
    ]
    workers = jobs or min(len(todo), os.cpu_count() or 1)
    if n_ranks() > 1:
        workers = 1  # each run is the work of all processes
    runs, failed = _run(todo, tasks, data, workers, console)
    if runs:
        _print(console, summarise(runs))
        console.tell(f"Results: {out / tasks.name}")
    for end in failed:
        console.tell(f"{_name(end.job)} failed: {end.reason}", style="red")
    if failed:
        raise typer.Exit(1)


def _parsed(text: str) -> tuple[str, Any]:
    """Split an option into its name and its value: a Python literal, or else a string."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ClsnetError(f"--option {text}: write NAME=VALUE, such as epochs=5.")
    try:
        literal = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
    return name, tuple(literal) if isinstance(literal, list) else literal


def _run(
    jobs: list[Job], sequence: TaskSequence, data: Path | None, workers: int, console: PlainConsole
) -> tuple[list[dict[str, Any]], list[Finished]]:
    """Run what is not there yet; return all runs and the jobs that failed."""
    from clsnet.evaluation.pool import run_all
    from clsnet.evaluation.protocol import TESTED

    runs, missing, failed = [], [], []
    for job in jobs:
        run = job.stored(sequence)
        if run is None:
            missing.append(job)
        else:
            console.tell(f"{_name(job)}: found in {job.path(sequence)}")
            runs.append(run)
    with bars(console) as progress:
        lines: dict[Job, TaskID] = {}
        total = progress.add_task("all runs", total=len(missing), said="", visible=len(missing) > 1)

        def show(job: Job, task: int, stage: str, accuracy: float | None) -> None:
            if job not in lines:
                lines[job] = progress.add_task(_name(job), total=sequence.n_tasks, said="")
            so_far = "" if accuracy is None else f", accuracy {accuracy:.4f}"
            place = f"task {task + 1}/{sequence.n_tasks}"
            progress.update(lines[job], completed=task, said=f"{place}, {stage}{so_far}")
            if stage == TESTED and not console.is_terminal:
                console.tell(f"{_name(job)}: {place}{so_far}")

        for end in run_all(missing, sequence, data, workers, show):
            if end.job in lines:
                progress.remove_task(lines.pop(end.job))
            progress.advance(total)
            if end.run is None:
                failed.append(end)
                console.tell(f"{_name(end.job)}: failed", style="red")
            else:
                runs.append(end.run)
                accuracy, seconds = end.run["avg_acc"], end.run["seconds"]["learn"]
                console.tell(
                    f"{_name(end.job)}: accuracy {accuracy:.4f}, learned in {seconds:.1f} s"
                )
    return runs, failed


def _name(job: Job) -> str:
    return f"{job.method}, order {job.index}"


def _print(console: PlainConsole, summaries: Sequence[Summary]) -> None:
    from rich.table import Table

    from clsnet.evaluation.protocol import DEMO, PROTOCOLS
    from clsnet.methods import get_method
    from clsnet.reporting.differences import HEADING, difference_text, differences
    from clsnet.reporting.notes import notes
    from clsnet.reporting.paper import paper_row
    from clsnet.reporting.tables import megabytes, number

    for summary in summaries:
        matrix = Table(title=f"{summary.title}: accuracy on each task, after each task")
        rows = summary.matrix()
        matrix.add_column("after task")
        for column in range(len(rows)):
            matrix.add_column(str(column + 1), justify="right")
        for i, row in enumerate(rows):
            matrix.add_row(str(i + 1), *(number(cell) for cell in row))
        console.print(matrix)

    table = Table(title=f"{summaries[0].sequence}, mean over orders")
    table.add_column("method")
    network = ["network MB"] if any(summary.network_mb for summary in summaries) else []
    for head in ("Avg Acc", "± orders", "BWT", "FWT", "learn s", "MB", *network):
        table.add_column(head, justify="right", no_wrap=True)
    for summary in summaries:
        table.add_row(
            summary.title,
            number(summary.mean("avg_acc")),
            number(summary.spread("avg_acc") if len(summary.runs) > 1 else None),
            number(summary.mean("bwt")),
            number(summary.mean("fwt")),
            number(summary.mean("seconds", "learn"), 1),
            megabytes(summary.mean("memory", "model_mb"), summary.mean("memory", "exemplar_mb")),
            *[number(summary.network_mb or None, 2)] * len(network),
        )
    for name in dict.fromkeys(get_method(summary.method).paper for summary in summaries):
        published = paper_row(summaries[0].sequence, name)
        if published is not None:
            table.add_row(
                f"{name} in the paper",
                number(published.avg_acc),
                number(None),
                number(published.bwt),
                number(published.fwt),
                number(published.seconds, 1),
                megabytes(published.model_mb, published.exemplar_mb),
                style="dim",
            )
    console.print(table)
    found = differences(summaries)
    for summary, difference in zip(summaries, found, strict=True):
        if difference is not None:
            said = f"{summary.title}, {HEADING}: {difference_text(difference)}"
            console.tell(said)
    for note in notes(summaries, found):
        console.tell(note)
    if any(summary.protocol == DEMO for summary in summaries):
        console.tell(f"{PROTOCOLS[DEMO]}.", style="bold red")
