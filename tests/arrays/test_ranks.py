"""Several processes, started as a user starts them, learn what one process learns."""

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from clsnet import CLSNet, load
from clsnet.arrays.ranks import joined
from clsnet.errors import ClsnetError
from clsnet.extractor import Patches
from clsnet.photos import learn

torchrun_needed = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed"
)

LEARN = """
import os, signal, sys
import numpy as np
from sklearn.datasets import load_digits
from clsnet import CLSNet
from clsnet.arrays.ranks import joined, rank

out, dies = sys.argv[1], sys.argv[2] == "dies"
X, y = load_digits(return_X_y=True)
with joined():
    for name, model in {
        "full": CLSNet(groups=6),
        "classes": CLSNet(groups=6, retain="classes"),
        "paper": CLSNet.paper(groups=6, ridge=0.1),
        "weighted": CLSNet(groups=6, retain="classes", class_weight="balanced"),
    }.items():
        weights = 1 + np.arange(len(y)) % 3 if name == "weighted" else np.ones(len(y))
        for classes in ([7, 2, 0], [1], [3, 4, 5, 6, 8, 9]):
            rows = np.isin(y, classes)
            if dies and rank() == 1 and classes == [1]:
                os.kill(os.getpid(), signal.SIGKILL)
            model.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
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


# Imports take seconds in each process; here one process imports, and its forks are the ranks.
FORKED = """
import os, runpy, sys, traceback
import torch.distributed
import clsnet, clsnet.cli.app, clsnet.photos, sklearn.datasets
n_ranks, sys.argv = int(sys.argv[1]), sys.argv[2:]
os.environ |= {"WORLD_SIZE": str(n_ranks), "LOCAL_WORLD_SIZE": str(n_ranks)}
children = []
for number in range(n_ranks):
    children.append(os.fork())
    if children[-1]:
        continue
    os.environ |= {"RANK": str(number), "LOCAL_RANK": str(number)}
    status = 0
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
print(*[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""


def forked(n_ranks, *arguments):
    """Run a script in several processes; return what it printed, and the status of each."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    address = {"MASTER_ADDR": "localhost", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(n_ranks), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, **address},
    )
    assert done.returncode == 0, done.stderr
    *printed, statuses = done.stdout.splitlines()
    return printed, [int(status) for status in statuses.split()], done.stderr


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "learn.py"
    path.write_text(LEARN)
    return path


@torchrun_needed
def test_several_processes_give_the_answer_of_one(script, tmp_path):
    _, statuses, errors = forked(3, script, tmp_path, "lives")
    assert statuses == [0, 0, 0], errors
    X, y = load_digits(return_X_y=True)
    alone = {
        "full": CLSNet(groups=6),
        "classes": CLSNet(groups=6, retain="classes"),
        "paper": CLSNet.paper(groups=6, ridge=0.1),
        "weighted": CLSNet(groups=6, retain="classes", class_weight="balanced"),
    }
    for name, model in alone.items():
        weights = 1 + np.arange(len(y)) % 3 if name == "weighted" else np.ones(len(y))
        for classes in ([7, 2, 0], [1], [3, 4, 5, 6, 8, 9]):
            rows = np.isin(y, classes)
            model.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
        together = load(tmp_path / f"{name}.clsnet")
        assert together.tasks_ == model.tasks_
        mine, theirs = model.decision_function(X), together.decision_function(X)
        np.testing.assert_allclose(theirs, mine, rtol=0, atol=1e-10 * np.abs(mine).max())


@torchrun_needed
def test_a_process_that_dies_ends_the_run_and_no_model_is_written(script, tmp_path):
    done = torchrun(2, script, tmp_path, "dies")
    assert done.returncode != 0
    assert not list(tmp_path.glob("*.clsnet*"))


@torchrun_needed
def test_a_benchmark_is_one_run_of_all_processes(tmp_path, golden):
    done = torchrun(2, "-m", "clsnet", "bench", "Digits-10/5", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    together = json.loads((tmp_path / "Digits-10/5/clsnet/0.json").read_text())
    assert together["R"] == golden.run["R"]
    assert done.stdout.count("accuracy on each task") == 1


# ---------------------------------------------------------------------------- photos


PHOTOS = """
import os, signal, sys
from clsnet.arrays.ranks import joined, rank
from clsnet.errors import ClsnetError
from clsnet.extractor import Patches
from clsnet.photos import learn

dies, model, *folders = sys.argv[1:]

def report(stage, done, total):
    if stage == "reading photos" and rank() == 1 and dies == "dies":
        os.kill(os.getpid(), signal.SIGKILL)

with joined():
    try:
        for folder in folders:
            learn(model, folder, backbone=Patches(filters=2, pool=2), report=report)
    except ClsnetError as error:
        print(error)
        sys.exit(2)
"""


@pytest.fixture
def photo_folders(shapes_folder, tmp_path):
    """Sixty photos and one that cannot be read, and twenty more."""
    folders = [tmp_path / "january", tmp_path / "february"]
    for number, place in enumerate(sorted(shapes_folder.iterdir())):
        shutil.copytree(place, folders[number >= 6] / place.name)
    (folders[0] / "square-b" / "broken.png").write_bytes(b"no photo")
    return folders


@torchrun_needed
def test_processes_share_the_photos_of_a_folder(photo_folders, tmp_path):
    script = tmp_path / "photos.py"
    script.write_text(PHOTOS)
    _, statuses, errors = forked(2, script, "lives", tmp_path / "two.clsnet", *photo_folders)
    assert statuses == [0, 0], errors
    for folder in photo_folders:
        learn(tmp_path / "one.clsnet", folder, backbone=Patches(filters=2, pool=2))
    one, two = load(tmp_path / "one.clsnet"), load(tmp_path / "two.clsnet")
    assert one.tasks_ == two.tasks_
    mine, theirs = one.classifier_.omega, two.classifier_.omega
    assert np.linalg.norm(mine - theirs) <= 1e-10 * np.linalg.norm(mine)


@torchrun_needed
def test_one_process_speaks_for_all(photo_folders, write_network, tmp_path, run_warm):
    network = write_network(tmp_path / "net.safetensors")
    command = ("learn", tmp_path / "m.clsnet", photo_folders[0], "--backbone", network)
    done = torchrun(2, "-m", "clsnet", *command)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("broken.png") == 1
    (tmp_path / "m.clsnet").unlink()
    alone = run_warm(*command)
    assert alone.status == 0, alone.err
    assert done.stdout == alone.out


@torchrun_needed
def test_a_process_that_dies_is_told_of_and_leaves_the_model_as_it_was(shapes_folder, tmp_path):
    script, folder = tmp_path / "photos.py", tmp_path / "models"
    script.write_text(PHOTOS)
    folder.mkdir()
    printed, statuses, _ = forked(2, script, "dies", folder / "m.clsnet", shapes_folder)
    assert statuses == [2, -signal.SIGKILL]
    (said,) = printed
    assert "another process of this run has ended" in said
    assert "nothing was written" in said
    assert not list(folder.iterdir())


def test_several_processes_without_torch_say_what_to_install(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setitem(sys.modules, "torch", None)
    message = r"several processes needs torch: pip install 'clsnet"
    with pytest.raises(ClsnetError, match=message), joined():
        pass
