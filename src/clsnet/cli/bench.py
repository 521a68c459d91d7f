"""``clsnet bench``: learn a task sequence and print what the paper prints."""

from __future__ import annotations

import enum
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.progress import Progress, TaskID

    from clsnet.data import TaskSequence
    from clsnet.evaluation.harness import Job
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
    sequence: Annotated[str, typer.Argument(help="Task sequence, such as FashionMNIST-10/5.")],
    method: Annotated[
        list[str] | None,
        typer.Option(help="Method; may be repeated; clsnet if none is given."),
    ] = None,
    orders: Annotated[int, typer.Option(min=1, help="Random class orders.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of orders and models.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for results, one JSON file a run.")] = Path(
        "runs"
    ),
    preset: Annotated[
        Preset, typer.Option(help="Features of the method clsnet for images.")
    ] = Preset.fast,
    protocol: Annotated[
        Protocol,
        typer.Option(help="agnostic is honest; demo re-creates the authors' leaking evaluation."),
    ] = Protocol.agnostic,
    tune: Annotated[
        bool, typer.Option("--tune", help="First choose a method's options on training data.")
    ] = False,
    data: Annotated[
        Path | None, typer.Option(help="Folder that holds the data set's files.")
    ] = None,
) -> None:
    """Learn a task sequence with one or more methods, and compare with the paper.

    Finished runs are kept in --out; the same command goes on where it was stopped.
    """
    from rich.console import Console

    from clsnet.data import load_sequence
    from clsnet.evaluation.harness import Job, check_protocol
    from clsnet.evaluation.store import check_writable
    from clsnet.methods import get_method
    from clsnet.reporting.tables import summarise

    console = Console()
    chosen = [get_method(name) for name in dict.fromkeys(method or ["clsnet"])]
    for one in chosen:
        check_protocol(one, protocol)
    check_writable(out)
    with _progress(console) as progress:
        bar = progress.add_task("", total=None, said="")

        def report(stage: str, done: int, total: int) -> None:
            progress.update(bar, description=stage, completed=done, total=total or None)

        tasks = load_sequence(sequence, data, report)
        progress.remove_task(bar)
    jobs = [
        Job(one, index, seed, preset if one.name == "clsnet" else None, protocol, tune, out, {})
        for one in chosen
        for index in range(orders)
    ]
    runs = _run(jobs, tasks, console)
    summaries = summarise(runs)
    _print(console, summaries)
    console.print(f"Results: {out / tasks.name}", soft_wrap=True)


def _progress(console: Console) -> Progress:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[said]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )


def _run(jobs: list[Job], sequence: TaskSequence, console: Console) -> list[dict[str, Any]]:
    runs = []
    for job in jobs:
        run = job.stored(sequence)
        name = f"{job.method.name}, order {job.index}"
        if run is not None:
            console.print(f"{name}: found in {job.path(sequence)}", soft_wrap=True)
        else:
            with _progress(console) as progress:
                bar = progress.add_task(name, total=sequence.n_tasks, said="")

                run = job.run(sequence, functools.partial(_show, progress, bar, sequence.n_tasks))
            learned = run["seconds"]["learn"]
            console.print(f"{name}: accuracy {run['avg_acc']:.4f}, learned in {learned:.1f} s")
        runs.append(run)
    return runs


def _show(
    progress: Progress, bar: TaskID, n_tasks: int, task: int, stage: str, accuracy: float | None
) -> None:
    so_far = "" if accuracy is None else f", accuracy so far {accuracy:.4f}"
    said = f"task {task + 1} of {n_tasks}, {stage}{so_far}"
    progress.update(bar, completed=task, said=said)


def _print(console: Console, summaries: Sequence[Summary]) -> None:
    from rich.table import Table

    from clsnet.evaluation.protocol import DEMO, PROTOCOLS
    from clsnet.methods import get_method
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
    for head in ("Avg Acc", "± orders", "BWT", "FWT", "learn s", "MB"):
        table.add_column(head, justify="right", no_wrap=True)
    for summary in summaries:
        table.add_row(
            summary.title,
            number(summary.mean("avg_acc")),
            number(summary.spread("avg_acc")),
            number(summary.mean("bwt")),
            number(summary.mean("fwt")),
            number(summary.mean("seconds", "learn"), 1),
            megabytes(summary.mean("memory", "model_mb"), summary.mean("memory", "exemplar_mb")),
        )
    for name in dict.fromkeys(get_method(summary.method).paper for summary in summaries):
        published = paper_row(summaries[0].sequence, name)
        if published is not None:
            table.add_row(
                f"[dim]{name} in the paper[/dim]",
                number(published.avg_acc),
                number(None),
                number(published.bwt),
                number(published.fwt),
                number(published.seconds, 1),
                megabytes(published.model_mb, published.exemplar_mb),
            )
    console.print(table)
    if any(summary.protocol == DEMO for summary in summaries):
        console.print(f"[bold red]{PROTOCOLS[DEMO]}.[/bold red]", soft_wrap=True)
