"""Running many jobs in processes of their own, as many at a time as there are cores."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from clsnet.arrays.threads import threads_of_children
from clsnet.data import TaskSequence, load_sequence
from clsnet.errors import ClsnetError
from clsnet.evaluation.harness import Job

Progress = Callable[[Job, int, str, float | None], None]


@dataclass(frozen=True)
class Finished:
    """The end of a job: its run, or why there is none."""

    job: Job
    run: dict[str, Any] | None
    reason: str = ""


def run_all(
    jobs: Sequence[Job],
    sequence: TaskSequence,
    data: Path | None,
    workers: int,
    progress: Progress,
) -> Iterator[Finished]:
    """Run jobs side by side and yield them as they end; a single worker works in this process.

    A job that fails is reported with its reason and stops no other. Closing the iterator, or
    Ctrl-C, ends the running jobs; finished ones are stored already.
    """
    if workers == 1:
        for job in jobs:
            yield _attempt(job, sequence, progress)
        return
    context = multiprocessing.get_context("spawn")
    waiting = list(jobs)
    running: dict[Any, tuple[Job, BaseProcess]] = {}  # keys are connections
    threads = max(1, (os.cpu_count() or 1) // workers)
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                job = waiting.pop(0)
                ours, theirs = context.Pipe(duplex=False)
                arguments = (job, sequence.spec or sequence.name, data, theirs)
                process = context.Process(target=_work, args=arguments, daemon=True)
                with threads_of_children(threads):
                    process.start()
                theirs.close()
                running[ours] = (job, process)
            ready: list[Any] = wait(list(running))
            for connection in ready:
                job, worker = running[connection]
                try:
                    news = connection.recv()
                except EOFError:
                    worker.join()
                    news = Finished(job, None, f"its process ended with status {worker.exitcode}")
                if isinstance(news, Finished):
                    connection.close()
                    worker.join()
                    del running[connection]
                    yield news
                else:
                    progress(job, *news)
    finally:
        for _, left in running.values():
            left.kill()
            left.join()


def _attempt(job: Job, sequence: TaskSequence, progress: Progress) -> Finished:
    def tell(task: int, stage: str, accuracy: float | None) -> None:
        progress(job, task, stage, accuracy)

    try:
        return Finished(job, job.run(sequence, tell))
    except ClsnetError as error:
        return Finished(job, None, str(error))
    except Exception as error:
        return Finished(job, None, f"{type(error).__name__}: {error}")


def _work(job: Job, sequence: str, data: Path | None, connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def tell(_: Job, task: int, stage: str, accuracy: float | None) -> None:
        connection.send((task, stage, accuracy))

    connection.send(_attempt(job, load_sequence(sequence, data), tell))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
