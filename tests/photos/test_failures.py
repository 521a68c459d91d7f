"""Whatever goes wrong while a model is changed, the old one survives."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clsnet.errors import ClsnetError
from clsnet.photos import forget, learn, undo

KILLED_WHILE_WRITING = """
import os, signal, sys
from clsnet.photos import learn
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
learn(*sys.argv[1:])
"""


def unharmed(model, before):
    assert model.read_bytes() == before
    others = {path.name for path in model.parent.iterdir() if path.name.startswith("m.clsnet")}
    assert others == {"m.clsnet"}


def test_a_full_disk(model, february, full_disk):
    before = model.read_bytes()
    with (
        full_disk(len(before) // 2),
        pytest.raises(ClsnetError, match="File too large; it is unchanged"),
    ):
        learn(model, february)
    unharmed(model, before)
    assert not [path for path in model.parent.iterdir() if path.name.startswith(".m.clsnet")]


def test_a_read_only_file(model, february):
    before = model.read_bytes()
    model.chmod(0o444)
    for change in (lambda: learn(model, february), lambda: forget(model, ["square-r"])):
        with pytest.raises(ClsnetError, match="it is read-only"):
            change()
    unharmed(model, before)


def test_a_read_only_folder(model, february, public_folder, as_nobody):
    before = model.read_bytes()
    there = Path(shutil.copy(model, public_folder / "m.clsnet"))
    there.chmod(0o666)
    shutil.copytree(february, public_folder / "february")
    public_folder.chmod(0o555)
    with as_nobody(), pytest.raises(ClsnetError, match="Permission denied"):
        learn(there, public_folder / "february")
    public_folder.chmod(0o755)
    unharmed(there, before)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_process_stopped_while_it_learns(model, february, environment, number):
    before = model.read_bytes()
    process = subprocess.Popen(
        [sys.executable, "-m", "clsnet", "learn", model, february],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    lock = model.with_name(".m.clsnet.lock")
    while not lock.exists():
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(number)
    said = process.communicate()[1]
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert "m.clsnet is unchanged" in said
        assert "Traceback" not in said
    else:
        assert process.returncode == -signal.SIGKILL
    unharmed(model, before)
    assert learn(model, february).counts == {"square-g": 10, "stripes-y": 10}
    undo(model)
    assert model.read_bytes() == before


def test_an_interrupted_first_learning_says_that_there_is_no_model(january, tmp_path, environment):
    model = tmp_path / "new.clsnet"
    process = subprocess.Popen(
        [sys.executable, "-m", "clsnet", "learn", model, january, "--backbone", "patches"],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    while not model.with_name(".new.clsnet.lock").exists():
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    assert f"{model} was not created." in process.communicate()[1]
    assert not model.exists()


def test_a_process_killed_while_it_writes(model, february, environment):
    before = model.read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_WRITING, model, february], env=environment
    )
    assert done.returncode == -signal.SIGKILL
    unharmed(model, before)
    assert learn(model, february).counts == {"square-g": 10, "stripes-y": 10}
    undo(model)
    assert model.read_bytes() == before
