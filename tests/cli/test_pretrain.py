import io
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from clsnet.cli.bars import bars
from clsnet.cli.pretrain import _said
from clsnet.extractor.backbones.weights import fingerprint, read_weights
from clsnet.pretraining import Status
from clsnet.pretraining.simsiam import SimSiam
from clsnet.pretraining.supervised import Supervised

EPOCHS = 4


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Two colours of 8x8 pixels, 40 images each."""
    folder = tmp_path_factory.mktemp("photos")
    random = np.random.default_rng(0)
    for channel, name in enumerate(("red", "green")):
        (folder / name).mkdir()
        for i in range(40):
            image = random.integers(0, 100, (8, 8, 3)).astype(np.uint8)
            image[..., channel] += 100
            Image.fromarray(image).save(folder / name / f"{i}.png")
    return folder


@pytest.fixture(scope="module")
def whole(photos, tmp_path_factory, run_warm):
    """Weights of a run that nobody stopped."""
    out = tmp_path_factory.mktemp("whole") / "deep" / "w.safetensors"
    done = run_warm("pretrain", f"folder:{photos}", "--epochs", EPOCHS, "--out", out)
    assert done.status == 0, done.err
    return out, done.out


def stop(environment, photos, out, how):
    """Start the command, and end it as soon as there is something to go on from."""
    arguments = ("pretrain", f"folder:{photos}", "--epochs", str(EPOCHS), "--out", str(out))
    process = subprocess.Popen(
        [sys.executable, "-m", "clsnet", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    checkpoint = out.with_name(f"{out.name}.checkpoint")
    end = time.monotonic() + 60
    while not checkpoint.exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(how)
    _, err = process.communicate()
    assert checkpoint.exists()
    assert not out.exists()
    return process.returncode, err


def test_the_weights_say_what_they_were_trained_on(whole, photos):
    out, printed = whole
    about, _ = read_weights(out)
    assert about.classes == ("green", "red")
    assert about.dataset == f"folder-{photos.name}"
    assert f"held-out accuracy {about.accuracy:.4f}" in printed
    assert f"Weights: {out}" in printed
    assert about.accuracy > 0.7
    assert [path.name for path in out.parent.iterdir()] == ["w.safetensors"]


def test_epochs_are_printed_where_there_is_no_bar(whole):
    _, printed = whole
    lines = [line for line in printed.splitlines() if line.startswith("epoch ")]
    assert len(lines) == EPOCHS
    assert all(word in lines[-1] for word in ("loss", "accuracy", "held-out", "images/s"))


def test_a_killed_run_goes_on_to_the_same_weights(whole, photos, tmp_path, environment, run_warm):
    out = tmp_path / "w.safetensors"
    status, _ = stop(environment, photos, out, signal.SIGKILL)
    assert status == -signal.SIGKILL

    other = run_warm("pretrain", f"folder:{photos}", "--epochs", EPOCHS + 1, "--out", out)
    assert other.status == 2
    assert f"is of a run with other epochs ({EPOCHS}): give that run's options" in other.err
    assert len(other.err.splitlines()) == 1

    done = run_warm("pretrain", f"folder:{photos}", "--epochs", EPOCHS, "--out", out)
    assert done.status == 0, done.err
    assert f"Resuming from {out}.checkpoint" in done.out
    assert "epoch 1 of" not in done.out
    (about, state), (same_about, same_state) = read_weights(out), read_weights(whole[0])
    assert about == same_about
    assert fingerprint(state) == fingerprint(same_state)
    assert [path.name for path in tmp_path.iterdir()] == ["w.safetensors"]


def test_an_interrupted_run_says_what_it_keeps(photos, tmp_path, environment):
    out = tmp_path / "w.safetensors"
    status, err = stop(environment, photos, out, signal.SIGINT)
    assert status == 130
    assert f"{out}.checkpoint is kept: the same command resumes from it." in err
    assert "Traceback" not in err


def test_an_unreadable_image_is_left_out_and_named(tmp_path, run_warm):
    for name in ("red", "green"):
        (tmp_path / "in" / name).mkdir(parents=True)
        for i in range(3):
            Image.new("RGB", (8, 8), name).save(tmp_path / "in" / name / f"{i}.png")
    (tmp_path / "in/red/broken.png").write_bytes(b"")
    command = ("pretrain", f"folder:{tmp_path / 'in'}", "--epochs", 1)
    done = run_warm(*command, "--out", tmp_path / "w.safetensors")
    assert done.status == 0, done.err
    assert "broken.png" in done.out
    assert "1 unreadable image is left out." in done.out

    strict = run_warm(*command, "--strict", "--out", tmp_path / "strict.safetensors")
    assert strict.status == 2
    assert "broken.png" in strict.err
    assert len(strict.err.splitlines()) == 1


def test_the_bar_fits_a_narrow_terminal():
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    status = Status(10, 60, 0.2, loss=5.125, watched=0.25, accuracy=0.375, speed=12_345.0)
    progress = bars(console)
    progress.add_task("epoch 10 of 60", total=1.0, said=_said(status, "accuracy"))
    console.print(progress.get_renderable())
    shown = console.file.getvalue()
    assert all(figure in shown for figure in ("5.125", "0.250", "0.375", "0:00:00 --:--"))


# ---------------------------------------------------------------------------- bad input

BAD = {
    "backbone": (("Digits-4/2", "--backbone", "resnet19"), "the nearest is 'resnet18'"),
    "objective": (("Digits-4/2", "--objective", "simsian"), "the nearest is 'simsiam'"),
    "device": (("Digits-4/2", "--device", "toaster"), "'toaster' is not available"),
    "no base classes": (("Digits-10/5",), "Digits-10/5 leaves no class of Digits"),
    "one base class": (("Digits-9/3",), "only one base class"),
    "sequence": (("Digit-4/2",), "the nearest is 'Digits'"),
    "folder": (("folder:/nowhere",), "/nowhere"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line(tmp_path, run_warm, arguments, message):
    done = run_warm("pretrain", *arguments, "--out", tmp_path / "w.safetensors")
    assert done.status == 2
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_not_trained(tmp_path, run_warm):
    file = tmp_path / "file"
    file.write_text("mine")
    for out, message in (
        (file, "exists already"),
        (tmp_path, "exists already"),
        (tmp_path / "w.pt", f"--out {tmp_path}/w.pt.safetensors"),
        (file / "w.safetensors", "cannot write"),
    ):
        done = run_warm("pretrain", "Digits-4/2", "--out", out)
        assert done.status == 2
        assert message in done.err
        assert len(done.err.splitlines()) == 1
        assert "epoch" not in done.out
    assert file.read_text() == "mine"


def test_help_names_the_passes_that_are_made(run_warm):
    said = " ".join(run_warm("pretrain", "--help").out.replace("│", " ").split())
    assert f"{Supervised.epochs}, or {SimSiam.epochs} for simsiam" in said


def test_without_torch_it_is_one_line(environment, tmp_path):
    command = ["clsnet", "pretrain", "Digits-6/3", "--out", str(tmp_path / "w.safetensors")]
    code = f"import sys; sys.modules['torch'] = None; sys.argv = {command}\n"
    code += "from clsnet.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 2
    assert done.stderr == "clsnet: clsnet pretrain needs torch: pip install 'clsnet[torch]'\n"
