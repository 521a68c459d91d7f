"""``clsnet bench``: learn a task sequence and print the paper's metrics."""

from __future__ import annotations

import ast
import enum
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clsnet.cli.bars import loading
from clsnet.cli.running import name_of, run_jobs
from clsnet.errors import ClsnetError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clsnet.cli.console import PlainConsole
    from clsnet.evaluation.summaries import Summary

LARGEST_SEED = 2**32 - 1  # that NumPy takes
LEAST_WIDTH = 12  # of the names of methods, which are folded rather than cut


class Preset(enum.StrEnum):
    """Features for images."""

    fast = enum.auto()
    best = enum.auto()
    small = enum.auto()


class Protocol(enum.StrEnum):
    """How test samples are presented."""

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
        typer.Option(
            min=1,
            help="Number of random class orders; one is enough, and run, where answers do not "
            "depend on it.",
        ),
    ] = 1,
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of orders and models.")
    ] = 0,
    out: Annotated[Path, typer.Option(help="Folder for results, one JSON file per run.")] = Path(
        "runs"
    ),
    preset: Annotated[
        Preset, typer.Option(help="Features for images, used by clsnet and the analytic methods.")
    ] = Preset.fast,
    protocol: Annotated[
        Protocol,
        typer.Option(
            help="agnostic tells the model nothing about the task; demo repeats the authors' "
            "leaking evaluation."
        ),
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
        Path | None,
        typer.Option(help="Folder in which to cache the network's outputs for other runs."),
    ] = None,
    allow_seen: Annotated[
        bool,
        typer.Option(
            "--allow-seen", help="Permit testing on classes that the network was pretrained on."
        ),
    ] = False,
    data: Annotated[
        Path | None, typer.Option(help="Folder that holds the data set's files.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at a folder's first unreadable image.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Number of parallel runs; one per core by default.")
    ] = None,
) -> None:
    """Learn a task sequence with one or more methods, and compare with the paper.

    Finished runs are kept in --out; the same command resumes an interrupted benchmark.
    """
    from clsnet.arrays.ranks import n_ranks, rank
    from clsnet.cli.console import PlainConsole
    from clsnet.cli.skipped import tell_skipped
    from clsnet.data import load_sequence
    from clsnet.evaluation.harness import Job, check_backbone, check_protocol, network_digest
    from clsnet.evaluation.pretrained_classes import check_not_pretrained
    from clsnet.evaluation.store import check_writable
    from clsnet.evaluation.summaries import summarise
    from clsnet.methods import check_options, get_method

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
    with loading(console) as report:
        tasks = load_sequence(sequence, data, report, strict)
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
            tune=tune and bool(one.grid),
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
    runs, failed = run_jobs(todo, tasks, data, workers, console)
    if runs:
        _print(console, summarise(runs))
        console.tell(f"Results: {out / tasks.name}")
    for end in failed:
        console.tell(f"{name_of(end.job)} failed: {end.reason}", style="red")
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


def _print(console: PlainConsole, summaries: Sequence[Summary]) -> None:
    from rich.table import Table

    from clsnet.evaluation.protocol import DEMO, PROTOCOLS
    from clsnet.experiments.published import paper_row
    from clsnet.methods import get_method
    from clsnet.reporting.differences import HEADING, difference_text, differences
    from clsnet.reporting.notes import notes
    from clsnet.reporting.paper import published_accuracy
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
    table.add_column("method", min_width=LEAST_WIDTH, overflow="fold")
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
    sequence = summaries[0].sequence
    names = dict.fromkeys(get_method(summary.method).paper for summary in summaries)
    published = {name: theirs for name in names if (theirs := paper_row(sequence, name))}
    for name, theirs in published.items():
        table.add_row(
            f"{name} in the paper",
            published_accuracy(sequence, theirs),
            number(None),
            number(theirs.bwt),
            number(theirs.fwt),
            number(theirs.seconds, 1),
            megabytes(theirs.model_mb, theirs.exemplar_mb),
            style="dim",
        )
    console.print(table)
    found = differences(summaries)
    for summary, difference in zip(summaries, found, strict=True):
        if difference is not None:
            said = f"{summary.title}, {HEADING}: {difference_text(difference)}"
            console.tell(said)
    for note in notes(summaries, found, published.values()):
        console.tell(note)
    if any(summary.protocol == DEMO for summary in summaries):
        console.tell(f"{PROTOCOLS[DEMO]}.", style="bold red")
