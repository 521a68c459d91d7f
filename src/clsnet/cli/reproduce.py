"""``clsnet reproduce``: every table and figure of the paper, on one page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clsnet.cli.bars import loading
from clsnet.cli.running import name_of, run_jobs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clsnet.cli.console import PlainConsole
    from clsnet.experiments.found import Found
    from clsnet.experiments.needs import Key, Needs


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME ...]",
            help="Names of experiments, or all; without a name, they are listed.",
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path(
        "reproduction.html"
    ),
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Run a reduced version of everything, in minutes on two cores."
        ),
    ] = False,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Folder of finished runs to use; nothing is computed."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for runs; the same command resumes interrupted work.")
    ] = Path("runs/reproduce"),
    data: Annotated[
        Path | None, typer.Option(help="Folder that holds the data sets' files.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of parallel runs; by default 1 with --quick, otherwise one per core.",
        ),
    ] = None,
) -> None:
    """Reproduce the tables and figures of the paper, each beside the published one.

    Finished runs are kept in --out, so the same command resumes after an interruption. Missing data
    sets are named, and the other experiments continue.
    """
    from clsnet.cli.console import PlainConsole
    from clsnet.errors import ClsnetError
    from clsnet.experiments.registry import chosen

    console = PlainConsole()
    if not names:
        _list(console)
        return
    experiments = chosen(names)
    try:
        from clsnet.reporting.html import check_page, templates
        from clsnet.reporting.reproduction import Reproduced, write_reproduction
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise ClsnetError("the page needs matplotlib: pip install 'clsnet[report]'") from None
    templates()
    check_page(output)
    studies = [experiment.load() for experiment in experiments]
    needs = [study.needs(quick) for study in studies]
    if source:
        found = _read(source, needs, quick, console)
    else:
        workers = jobs or (1 if quick else os.cpu_count() or 1)
        found = _computed(needs, quick, out, data, workers, console)
    reproduced = [
        Reproduced(experiment, study.answer(found), found.missing(need), found.stopped(need))
        for experiment, study, need in zip(experiments, studies, needs, strict=True)
    ]
    words = ["clsnet", "reproduce", *names, *(["--quick"] if quick else [])]
    words += ["--from", str(source)] if source else []
    write_reproduction(output, reproduced, [*words, "-o", str(output)], quick)
    for one in reproduced:
        console.tell(f"{one.experiment.number}. {one.experiment.title}: {one.verdict}")
    console.tell(f"Page: {output}")


def _list(console: PlainConsole) -> None:
    from rich.table import Table

    from clsnet.experiments.registry import experiments

    table = Table("", "experiment", "what", "in the paper")
    for one in experiments():
        table.add_row(str(one.number), one.name, one.title, one.place)
    console.print(table)


def _read(source: Path, needs: Sequence[Needs], quick: bool, console: PlainConsole) -> Found:
    """Take runs and measurements from a folder."""
    from clsnet.errors import ClsnetError
    from clsnet.experiments.found import Found
    from clsnet.experiments.measured import find_measured
    from clsnet.reporting.folder import read_folder

    folder = read_folder(source)
    for reason in folder.broken:
        console.tell(f"{reason}; left out.")
    measured: dict[tuple[str, str], dict[str, Any]] = {}
    for one in (one for need in needs for one in need.measurements):
        try:
            if (values := find_measured(one, source)) is not None:
                measured[one.name, one.sequence] = values
        except ClsnetError as error:
            console.tell(f"{error} Left out.")
    return Found.of(quick, folder.runs, measured=measured)


def _computed(
    needs: Sequence[Needs],
    quick: bool,
    out: Path,
    data: Path | None,
    workers: int,
    console: PlainConsole,
) -> Found:
    """Compute what is missing; a failure of one sequence or method stops no other."""
    from clsnet.errors import ClsnetError
    from clsnet.evaluation.store import check_writable, read_run
    from clsnet.experiments.found import Found
    from clsnet.experiments.measured import measure
    from clsnet.experiments.plan import first_there, grouped, plan_jobs

    check_writable(out)
    runs: list[dict[str, Any]] = []
    measured: dict[tuple[str, str], dict[str, Any]] = {}
    problems: dict[Key, str] = {}
    for group in grouped(needs):
        try:
            with loading(console) as report:
                sequence = first_there(group.sequences, data, report)
        except ClsnetError as error:
            console.tell(str(error), style="red")
            problems |= dict.fromkeys(group.keys, str(error))
            continue
        plan = plan_jobs(group, sequence, out, data)
        for reason in dict.fromkeys(plan.problems.values()):
            console.tell(reason, style="red")
        problems |= plan.problems
        jobs = {job.path(sequence): job for some in plan.jobs.values() for job in some}
        console.tell(f"{sequence.name}: {len(jobs)} runs, {len(group.measurements)} measurements")
        ended, failed = run_jobs(list(jobs.values()), sequence, data, workers, console)
        # As files hold them, so that the page is the same when they are found the next time.
        runs += [{**read_run(run["file"]), "file": run["file"]} for run in ended]
        problems |= {
            key: f"{name_of(end.job)}: {end.reason}"
            for end in failed
            for key, some in plan.jobs.items()
            if end.job in some
        }
        for one in group.measurements.values():
            try:
                measured[one.name, one.sequence] = measure(one, sequence, out)
                console.tell(f"{one.name}: measured")
            except ClsnetError as error:
                console.tell(str(error), style="red")
                problems[one.key] = str(error)
    return Found.of(quick, runs, measured=measured, problems=problems)
