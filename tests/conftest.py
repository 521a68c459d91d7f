from __future__ import annotations

import functools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Models this small do not gain from a second thread; numpy and torch read this when imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # tests import ONNX Runtime themselves

import numpy as np
import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from clsnet import CLSNet
    from clsnet.data import TaskSequence
    from clsnet.data.sequences import Task

settings.register_profile("untimed", deadline=None)  # a busy machine is not a failure
settings.load_profile("untimed")

IMPORTS_TORCH = re.compile(r"^(import|from) (torch|clsnet\.pretraining)\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Where there is no torch, leave out the files that import it at their top."""
    if find_spec("torch") or collection_path.suffix != ".py":
        return None
    return True if IMPORTS_TORCH.search(collection_path.read_text(encoding="utf-8")) else None


ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "COLUMNS": "200",
    "NO_COLOR": "1",
}


@dataclass(frozen=True)
class Finished:
    status: int
    out: str
    err: str


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    return ENVIRONMENT


@pytest.fixture(scope="session")
def run_clsnet() -> Callable[..., Finished]:
    """The real command, in a process of its own."""

    def run(*arguments: Any, **environment: str) -> Finished:
        done = subprocess.run(
            [sys.executable, "-m", "clsnet", *map(str, arguments)],
            capture_output=True,
            text=True,
            env={**ENVIRONMENT, **environment},
            timeout=120,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    return run


# Imports take seconds; this process does them once, and every command is a fork of it.
WARM = """
import contextlib, json, os, sys, tempfile, traceback
with contextlib.suppress(ImportError):
    import torch
from clsnet import CLSNet
from clsnet.cli import main
import clsnet.cli.app, clsnet.evaluation.pool, clsnet.photos
from clsnet.data import load_sequence
from clsnet.methods.registry import methods
images = load_sequence("Digits-10/5").dataset.X_train[:2]
for preset in (None, "fast"):
    CLSNet(preset=preset).prepare(images)  # draws filters, which the forks then have
methods()
for line in sys.stdin:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            folder, *arguments = json.loads(line)
            os.chdir(folder)
            sys.argv = ["clsnet", *arguments]
            status = 0
            try:
                main()
            except SystemExit as end:
                status = end.code or 0
            except BaseException:
                traceback.print_exc()
                status = 1
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = [os.pread(f.fileno(), 1 << 20, 0).decode() for f in (out, err)]
        print(json.dumps([status, *texts]), flush=True)
"""


@pytest.fixture(scope="session")
def run_warm() -> Iterator[Callable[..., Finished]]:
    """The real command in a process of its own, but one that has imported everything before."""
    process = subprocess.Popen(
        [sys.executable, "-c", WARM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )

    def run(*arguments: Any, cwd: Any = ".") -> Finished:
        process.stdin.write(json.dumps([str(word) for word in (cwd, *arguments)]) + "\n")
        process.stdin.flush()
        return Finished(*json.loads(process.stdout.readline()))

    yield run
    process.communicate()


@dataclass(frozen=True)
class Benchmark:
    folder: Path
    file: Path
    run: dict[str, Any]
    printed: str


@pytest.fixture(scope="session")
def golden(run_clsnet, tmp_path_factory) -> Benchmark:
    """The honest run of the default method on Digits-10/5, as a user starts it."""
    folder = tmp_path_factory.mktemp("golden") / "runs"
    done = run_clsnet("bench", "Digits-10/5", "--out", folder)
    assert done.status == 0, done.err
    file = folder / "Digits-10/5/clsnet/0.json"
    return Benchmark(folder, file, json.loads(file.read_text()), done.out)


@pytest.fixture(scope="session")
def digits() -> TaskSequence:
    from clsnet.data import load_sequence

    return load_sequence("Digits-10/5")


@pytest.fixture(scope="session")
def tasks(digits) -> list[Task]:
    """Images: tasks (4, 9), (8, 7), (5, 3), (0, 1), (2, 6)."""
    return digits.tasks(digits.order(seed=0, index=0))


@pytest.fixture(scope="session")
def vectors(tasks) -> list[Task]:
    """The same tasks, each image as 64 numbers."""
    from clsnet.data.sequences import Task

    return [
        Task(
            task.classes,
            task.X_train.reshape(len(task.X_train), -1).astype(float),
            task.y_train,
            task.X_test.reshape(len(task.X_test), -1).astype(float),
            task.y_test,
        )
        for task in tasks
    ]


@pytest.fixture(scope="session")
def shapes_folder(tmp_path_factory) -> Path:
    """Eight folders of ten images of 16x16 pixels: squares and stripes in four colours."""
    from PIL import Image

    folder = tmp_path_factory.mktemp("photos") / "shapes"
    random = np.random.default_rng(0)
    for label in range(8):
        place = folder / f"{('square', 'stripes')[label % 2]}-{'rgby'[label // 2]}"
        place.mkdir(parents=True)
        paint = 25 * np.array([(9, 1, 1), (1, 9, 1), (1, 1, 9), (9, 9, 1)], np.uint8)[label // 2]
        for i in range(10):
            image = random.integers(0, 60, (16, 16, 3)).astype(np.uint8)
            row, column = random.integers(0, 8, 2)
            if label % 2:
                image[row % 3 :: 3] = paint
            else:
                image[row : row + 8, column : column + 8] = paint
            Image.fromarray(image).save(place / f"{i}.png")
    return folder


@pytest.fixture(scope="session")
def write_network() -> Callable[..., str]:
    """Writes random weights of a ResNet-18 for images of 8x8 pixels, as pretrain would."""
    from clsnet.extractor.backbones.weights import About, write_weights

    @functools.cache
    def weights(seed: int) -> dict[str, np.ndarray]:
        random = np.random.RandomState(seed)
        state: dict[str, np.ndarray] = {}

        def convolution(name: str, norm: str, inputs: int, outputs: int, side: int) -> None:
            scale = (2 / (outputs * side**2)) ** 0.5
            weight = scale * random.standard_normal((outputs, inputs, side, side))
            state[f"{name}.weight"] = weight.astype(np.float32)
            state[f"{norm}.weight"] = random.uniform(0.5, 1, outputs).astype(np.float32)
            state[f"{norm}.bias"] = np.zeros(outputs, np.float32)
            state[f"{norm}.running_mean"] = np.zeros(outputs, np.float32)
            state[f"{norm}.running_var"] = np.ones(outputs, np.float32)
            state[f"{norm}.num_batches_tracked"] = np.array(0)

        convolution("conv1", "bn1", 3, 64, 3)
        inputs = 64
        for stage, width in enumerate((64, 128, 256, 512), start=1):
            for block in (f"layer{stage}.0", f"layer{stage}.1"):
                convolution(f"{block}.conv1", f"{block}.bn1", inputs, width, 3)
                convolution(f"{block}.conv2", f"{block}.bn2", width, width, 3)
                if inputs != width:
                    short = f"{block}.downsample"
                    convolution(f"{short}.0", f"{short}.1", inputs, width, 1)
                inputs = width
        for name, shape in (("fc.weight", (8, 512)), ("fc.bias", (8,))):
            state[name] = random.uniform(-0.04, 0.04, shape).astype(np.float32)
        return state

    def write(
        path: Path, classes: tuple[str, ...] = (), seed: int = 0, dataset: str = "Base"
    ) -> str:
        normal = (0.5, 0.5, 0.5), (0.25, 0.25, 0.25)
        about = About("resnet18", True, 8, *normal, "supervised", dataset, classes)
        write_weights(path, about, weights(seed))
        return str(path)

    return write


@pytest.fixture
def small() -> Callable[..., CLSNet]:
    """Makes the default model with few nodes, which learns in milliseconds."""
    from clsnet import CLSNet

    return lambda **options: CLSNet(**{"groups": 2, "group_size": 5, **options})


@pytest.fixture
def state_of(tmp_path) -> Callable[[CLSNet], dict[str, Any]]:
    """Everything that a model knows, as its file holds it."""
    import safetensors

    def state(model: CLSNet) -> dict[str, Any]:
        path = tmp_path / "state"
        model.save(path)
        with safetensors.safe_open(path, framework="np") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return {"header": json.loads(file.metadata()["header"]), **tensors}

    return state


@pytest.fixture
def assert_same_state(state_of) -> Callable[[CLSNet, dict[str, Any]], None]:
    def compare(model: CLSNet, before: dict[str, Any]) -> None:
        now = state_of(model)
        assert now.keys() == before.keys()
        assert now["header"] == before["header"]
        for name in now.keys() - {"header"}:
            np.testing.assert_array_equal(now[name], before[name], err_msg=name)

    return compare


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that anybody may enter; `tmp_path` lies in one that is closed to others."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def as_nobody() -> Callable[[], AbstractContextManager[None]]:
    """Within it there are no powers of root, whom nothing is forbidden."""

    @contextmanager
    def nobody() -> Iterator[None]:
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            yield
        finally:
            if root:
                os.seteuid(0)

    return nobody


@pytest.fixture
def full_disk() -> Callable[[int], AbstractContextManager[None]]:
    """Within it no file can have more bytes than these."""

    import resource

    @contextmanager
    def full(size: int) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return full


@pytest.fixture(autouse=True, scope="session")
def hear_ctrl_c() -> None:
    """Started in the background, a shell's child ignores Ctrl-C, and so would ours."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
