"""Several processes, started as a user starts them, learn what one process learns."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from clsnet import CLSNet, load

LEARN = """
import os, signal, sys
import numpy as np
from sklearn.datasets import load_digits
from clsnet import CLSNet
from clsnet.distributed import joined, rank

out, dies = sys.argv[1], sys.argv[2] == "dies"
X, y = load_digits(return_X_y=True)
with joined():
    for name, model in {
        "full": CLSNet(), "classes": CLSNet(retain="classes"), "paper": CLSNet.paper(ridge=0.1),
    }.items():
        for classes in ([7, 2, 0], [1], [3, 4, 5, 6, 8, 9]):
            rows = np.isin(y, classes)
            if dies and rank() == 1 and classes == [1]:
                os.kill(os.getpid(), signal.SIGKILL)
            model.partial_fit(X[rows], y[rows])
        if rank() == 0:
            model.save(f"{out}/{name}.clsnet")
"""


def torchrun(n_ranks, *arguments, timeout=100):
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(n_ranks)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*command, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment,
    )


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "learn.py"
    path.write_text(LEARN)
    return path


@pytest.mark.parametrize("n_ranks", [2, 4])
def test_any_number_of_processes_gives_the_answer_of_one(script, tmp_path, n_ranks):
    done = torchrun(n_ranks, script, tmp_path, "lives")
    assert done.returncode == 0, done.stderr
    X, y = load_digits(return_X_y=True)
    alone = {
        "full": CLSNet(),
        "classes": CLSNet(retain="classes"),
        "paper": CLSNet.paper(ridge=0.1),
    }
    for name, model in alone.items():
        for classes in ([7, 2, 0], [1], [3, 4, 5, 6, 8, 9]):
            rows = np.isin(y, classes)
            model.partial_fit(X[rows], y[rows])
        together = load(tmp_path / f"{name}.clsnet")
        assert together.tasks_ == model.tasks_
        mine, theirs = model.decision_function(X), together.decision_function(X)
        np.testing.assert_allclose(theirs, mine, rtol=0, atol=1e-10 * np.abs(mine).max())


def test_a_process_that_dies_ends_the_run_and_no_model_is_written(script, tmp_path):
    done = torchrun(2, script, tmp_path, "dies")
    assert done.returncode != 0
    assert not list(tmp_path.glob("*.clsnet*"))


def test_a_benchmark_is_one_run_of_all_processes(tmp_path, run_clsnet):
    bench = ("bench", "Digits-10/5", "--out")
    done = torchrun(2, "-m", "clsnet", *bench, tmp_path / "two")
    assert done.returncode == 0, done.stderr
    assert run_clsnet(*bench, tmp_path / "one").status == 0
    one, two = (
        json.loads(Path(tmp_path, name, "Digits-10/5/clsnet/0.json").read_text())
        for name in ("one", "two")
    )
    assert one["R"] == two["R"]
    assert done.stdout.count("accuracy on each task") == 1
