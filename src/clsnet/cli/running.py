"""Running the jobs of a benchmark, with progress; stored runs are not repeated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clsnet.cli.bars import bars

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.progress import TaskID

    from clsnet.cli.console import PlainConsole
    from clsnet.data import TaskSequence
    from clsnet.evaluation.harness import Job
    from clsnet.evaluation.pool import Finished


def run_jobs(
    jobs: Sequence[Job],
    sequence: TaskSequence,
    data: Path | None,
    workers: int,
    console: PlainConsole,
) -> tuple[list[dict[str, Any]], list[Finished]]:
    """Run the jobs without a stored result; return all runs with their files, and failed jobs.

    Further orders are run only if the first one has not shown that answers do not depend on them.
    """
    from clsnet.evaluation.pool import run_all
    from clsnet.evaluation.protocol import TESTED

    ended: dict[Job, dict[str, Any]] = {}
    missing, failed = [], []
    for job in jobs:
        run = job.stored(sequence)
        if run is None:
            missing.append(job)
        else:
            console.tell(f"{name_of(job)}: found in {job.path(sequence)}")
            ended[job] = run
    further = [job for job in missing if job.index > 0 and _may_be_order_free(job)]
    with bars(console) as progress:
        lines: dict[Job, TaskID] = {}
        total = progress.add_task("all runs", total=len(missing), said="", visible=len(missing) > 1)

        def show(job: Job, task: int, stage: str, accuracy: float | None) -> None:
            if job not in lines:
                lines[job] = progress.add_task(name_of(job), total=sequence.n_tasks, said="")
            so_far = "" if accuracy is None else f", accuracy {accuracy:.4f}"
            place = f"task {task + 1}/{sequence.n_tasks}"
            progress.update(lines[job], completed=task, said=f"{place}, {stage}{so_far}")
            if stage == TESTED and not console.is_terminal:
                console.tell(f"{name_of(job)}: {place}{so_far}")

        def ends() -> Iterator[Finished]:
            yield from run_all(
                [job for job in missing if job not in further], sequence, data, workers, show
            )
            needed = [job for job in further if not _is_order_free(job, ended)]
            progress.advance(total, len(further) - len(needed))
            yield from run_all(needed, sequence, data, workers, show)

        for end in ends():
            if end.job in lines:
                progress.remove_task(lines.pop(end.job))
            progress.advance(total)
            if end.run is None:
                failed.append(end)
                console.tell(f"{name_of(end.job)}: failed", style="red")
            else:
                ended[end.job] = end.run
                accuracy, seconds = end.run["avg_acc"], end.run["seconds"]["learn"]
                console.tell(
                    f"{name_of(end.job)}: accuracy {accuracy:.4f}, learned in {seconds:.1f} s"
                )
    runs = [{**run, "file": job.path(sequence)} for job, run in ended.items()]
    return runs, failed


def _may_be_order_free(job: Job) -> bool:
    """Whether the learner says if its answers depend on the order of tasks."""
    from clsnet.methods import get_method

    learner = get_method(job.method).build(job.seed, job.preset, **dict(job.options))
    return hasattr(type(learner), "order_free")


def _is_order_free(job: Job, ended: Mapping[Job, dict[str, Any]]) -> bool:
    """Whether the first order of the same job has shown that one order is enough."""
    return bool(ended.get(replace(job, index=0), {}).get("order_free"))


def name_of(job: Job) -> str:
    """Return the name of a job: its method, its options except the network, its order."""
    options = [f"{name}={value}" for name, value in job.options if name != "backbone"]
    return ", ".join([job.method, *options, f"order {job.index}"])
