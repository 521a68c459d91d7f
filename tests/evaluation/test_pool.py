import os
from pathlib import Path

import pytest

from clsnet.arrays.threads import VARIABLES
from clsnet.evaluation.harness import Job
from clsnet.evaluation.pool import run_all


def job(index: int, out: Path, **options: object) -> Job:
    return Job(
        "clsnet-demo", index, 0, None, "agnostic", False, out, options=tuple(options.items())
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_jobs_run_side_by_side_and_one_that_fails_stops_no_other(digits, tmp_path, workers):
    told = []
    jobs = [job(0, tmp_path), job(1, tmp_path, ridge=-1.0)]
    before = dict(os.environ)
    ends = {
        end.job.index: end
        for end in run_all(
            jobs, digits, None, workers, lambda job, *line: told.append((job.index, *line))
        )
    }
    assert dict(os.environ) == before
    assert ends[0].run is not None and ends[0].run["avg_acc"] > 0.5
    assert ends[1].run is None and "ridge" in ends[1].reason
    assert jobs[0].path(digits).is_file() and not jobs[1].path(digits).exists()
    assert (0, 4, "tested", ends[0].run["avg_acc"]) in told


def test_workers_share_the_cores(digits, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for name in VARIABLES:
        monkeypatch.setenv(name, "7")
    [end] = run_all([job(0, tmp_path)], digits, None, 2, lambda *line: None)
    assert end.run["environment"]["threads"] == "1"
    assert {os.environ[name] for name in VARIABLES} == {"7"}
