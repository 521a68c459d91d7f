"""Running the jobs of a benchmark, with progress; stored runs are not repeated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from clsnet.cli.bars import bars

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    """Run the jobs without a stored result; return all runs with their files, and failed jobs."""
    from clsnet.evaluation.pool import run_all
    from clsnet.evaluation.protocol import TESTED

    runs, missing, failed = [], [], []
    for job in jobs:
        run = job.stored(sequence)
        if run is None:
            missing.append(job)
        else:
            console.tell(f"{name_of(job)}: found in {job.path(sequence)}")
            runs.append({**run, "file": job.path(sequence)})
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

        for end in run_all(missing, sequence, data, workers, show):
            if end.job in lines:
                progress.remove_task(lines.pop(end.job))
            progress.advance(total)
            if end.run is None:
                failed.append(end)
                console.tell(f"{name_of(end.job)}: failed", style="red")
            else:
                runs.append({**end.run, "file": end.job.path(sequence)})
                accuracy, seconds = end.run["avg_acc"], end.run["seconds"]["learn"]
                console.tell(
                    f"{name_of(end.job)}: accuracy {accuracy:.4f}, learned in {seconds:.1f} s"
                )
    return runs, failed


def name_of(job: Job) -> str:
    """Return the name of a job: its method, its options except the network, its order."""
    options = [f"{name}={value}" for name, value in job.options if name != "backbone"]
    return ", ".join([job.method, *options, f"order {job.index}"])
