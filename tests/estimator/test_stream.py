"""A stream that does not end: the model is saved as it goes."""

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from clsnet import CLSNet, ClsnetError, load

X, Y = load_digits(return_X_y=True)
SMALL = {"groups": 2, "group_size": 5, "ridge": 1e-3}
SIZE = 50

KILLED = """
import itertools, os, signal, sys
from tests.estimator.test_stream import SMALL, stream
from clsnet import CLSNet

def deadly():
    for number, batch in enumerate(stream()):
        if number == 23:
            os.kill(os.getpid(), signal.SIGKILL)
        yield batch

CLSNet(**SMALL).learn(deadly(), save_to=sys.argv[1], every=5)
"""


def stream(first=0):
    for number in itertools.count(first):
        rows = np.arange(number * SIZE, (number + 1) * SIZE) % len(X)
        yield X[rows], Y[rows]


def test_a_killed_process_loses_at_most_every_batches(tmp_path):
    root = Path(__file__).parents[2]
    path = tmp_path / "stream.clsnet"
    path_there = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path_there}
    done = subprocess.run([sys.executable, "-c", KILLED, path], env=environment, timeout=60)
    assert done.returncode == -signal.SIGKILL
    model = load(path)
    learned = model.tasks_[-1].n_samples
    assert learned == 20 * SIZE
    model.learn(itertools.islice(stream(learned // SIZE), 10), save_to=path, every=5)
    whole = CLSNet(**SMALL).learn(itertools.islice(stream(), 30))
    np.testing.assert_allclose(
        load(path).decision_function(X), whole.decision_function(X), atol=1e-8
    )


def test_a_stream_is_one_task_however_often_it_is_saved(tmp_path):
    model = CLSNet(**SMALL).fit(X[:100], Y[:100])
    model.learn(itertools.islice(stream(), 11), save_to=tmp_path / "m", every=2)
    assert len(model.tasks_) == 2
    assert model.tasks_[1].n_samples == 11 * SIZE
    assert (load(tmp_path / "m").predict(X) == model.predict(X)).all()


def test_bad_input(tmp_path):
    with pytest.raises(ClsnetError, match="every=0"):
        CLSNet(**SMALL).learn(stream(), save_to=tmp_path / "m", every=0)
    with pytest.raises(ClsnetError, match="there is no batch"):
        CLSNet(**SMALL).learn([], save_to=tmp_path / "m")

    def torn():
        yield from itertools.islice(stream(), 4)
        yield X[:5] * np.nan, Y[:5]

    with pytest.raises(ClsnetError, match="NaN"):
        CLSNet(**SMALL).learn(torn(), save_to=tmp_path / "m", every=2)
    assert load(tmp_path / "m").tasks_[-1].n_samples == 4 * SIZE  # what was saved stays
