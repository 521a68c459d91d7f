"""Commands killed at every call to the system while they write, and what they leave.

``python -m tests.fuzz.killed_writes``: all of them, as JSON.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from PIL import Image

from clsnet.extractor import Patches
from clsnet.header import read
from clsnet.photos import correct, forget, learn, merge, undo, versions
from clsnet.photos.record import Record

SECRET = "secret-class"
TINY = Patches(filters=2, sizes=(3,), pool=2)
WINDOW = 48  # bytes of an array that show its presence
TO_THE_SYSTEM = ("posix", "fcntl", "_io")


def write_photos(folder: Path, *classes: str, each: int = 6) -> Path:
    """Write some photos of each class."""
    for name in classes:
        random = np.random.RandomState(sum(name.encode()))
        colour = random.randint(40, 200, 3)
        (folder / name).mkdir(parents=True)
        for i in range(each):
            pixels = random.normal(colour, 25, (24, 24, 3)).clip(0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{i}.png")
    return folder


class Scene:
    """A model with a version before it, and what to do with it while being killed.

    Parameters
    ----------
    folder
        An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        others = write_photos(folder / "others", "rust", "sea")
        secret = write_photos(folder / "secret", SECRET, "sand")
        (folder / "known").mkdir()
        learn(folder / "known" / "m.clsnet", others, backbone=TINY)
        shutil.copytree(folder / "known", folder / "unknown")
        learn(folder / "known" / "m.clsnet", secret)
        more = write_photos(folder / "more", "moss")
        learn(folder / "unknown" / "m.clsnet", more)
        header, arrays = read(folder / "known" / "m.clsnet")
        self.traces = self._traces(header, arrays)
        knowing = folder / "known.clsnet"
        learn(knowing, secret, backbone=TINY)
        photos = [secret / SECRET / f"{i}.png" for i in range(2)]
        wrong = [others / "rust" / f"{i}.png" for i in range(2)]
        self.actions: dict[str, tuple[str, Callable[[Path], object]]] = {
            "learn": ("unknown", lambda model: learn(model, secret)),
            "correct": ("known", lambda model: correct(model, wrong, SECRET)),
            "forget photos": ("known", lambda model: forget(model, photos=photos)),
            "merge": ("unknown", lambda m: merge([m, knowing], m, overwrite=True)),
            "forget": ("known", lambda model: forget(model, [SECRET])),
            "forget and purge": ("known", lambda model: forget(model, [SECRET], purge=True)),
            "undo": ("known", undo),
        }

    def _traces(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> list[bytes]:
        """Return what tells of the secret class: its name, digests, and parts of its sums."""
        digests = Record.of(header["notes"]).digests[SECRET]
        found = [SECRET.encode(), *(d.encode() for d in digests), *map(bytes.fromhex, digests)]
        [number] = [i for i, trace in enumerate(header["traces"]) if trace["key"] == SECRET]
        for name, array in arrays.items():
            if name.startswith(f"trace.{number}."):
                data = np.ascontiguousarray(array).tobytes()
                middle = len(data) // 2 // 8 * 8
                found.append(data[middle : middle + WINDOW])
        return found

    def prepared(self, action: str, place: Path) -> tuple[Path, Callable[[], object]]:
        """Return a model of its own, and the action on it."""
        start, act = self.actions[action]
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.folder / start, place)
        return place / "m.clsnet", lambda: act(place / "m.clsnet")

    def calls(self, action: str, place: Path) -> int:
        """Count the calls to the system of an action, from where it begins to write."""
        _, act = self.prepared(action, place)
        read_end, write_end = os.pipe()
        if (child := os.fork()) == 0:
            killer = Killer(at=-1)
            sys.setprofile(killer)
            act()
            sys.setprofile(None)
            os.write(write_end, str(killer.count).encode())
            os._exit(0)
        os.waitpid(child, 0)
        count = int(os.read(read_end, 20))
        os.close(read_end)
        os.close(write_end)
        return count

    def left_by(self, action: str, number: int, place: Path) -> list[str]:
        """Kill an action before call `number`, forget and purge; say what is wrong then."""
        model, act = self.prepared(action, place)
        if (child := os.fork()) == 0:
            sys.setprofile(Killer(at=number))
            act()
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status != -signal.SIGKILL:
            return [f"{action} {number}: ended with status {status}"]
        try:
            labels = read(model)[0]["labels"]
            if versions.version_before(model).exists():
                undo(model)
                undo(model)
            forget(model, [SECRET] if SECRET in read(model)[0]["labels"] else [], purge=True)
        except Exception as error:
            return [f"{action} {number}: {error!r}"]
        if not {"rust", "sea"} <= set(labels):
            return [f"{action} {number}: the model knows only {labels}"]
        files = [file for file in place.rglob("*") if file.is_file()]
        wrong = [
            f"{action} {number}: {file.name} tells of the class"
            for file in files
            if any(trace in file.read_bytes() for trace in self.traces)
        ]
        return [*wrong, *(f"{action} {number}: {f.name} is left" for f in files if f != model)]


class Killer:
    """A profiler that kills the process before a call to the system."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.count = 0
        self.writing = False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code in (versions.save.__code__, versions.swap.__code__):
            self.writing = True
        if event != "c_call" or not self.writing:
            return
        module = getattr(argument, "__module__", None) or type(argument.__self__).__module__
        if module in TO_THE_SYSTEM:
            if self.count == self.at:
                os.kill(os.getpid(), signal.SIGKILL)
            self.count += 1


def measured(choose: Callable[[int], Iterable[int]]) -> dict[str, Any]:
    """Try every action, killed before the calls that are chosen of so many."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        scene = Scene(folder)
        wrong, tried = [], {}
        for action in scene.actions:
            numbers = list(choose(scene.calls(action, folder / "tried")))
            tried[action] = len(numbers)
            for number in numbers:
                wrong += scene.left_by(action, number, folder / "tried")
    return {"kills": tried, "wrong": len(wrong), "examples": wrong[:20]}


if __name__ == "__main__":
    print(json.dumps(measured(range), indent=1))
