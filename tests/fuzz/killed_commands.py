"""Real commands killed at random moments: no model and no finished run is lost.

``python -m tests.fuzz.killed_commands [SECONDS]``: 200 kills in at most so many seconds, as JSON.
"""

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from clsnet.cli import main
from clsnet.evaluation.store import read_run
from clsnet.header import read
from clsnet.photos import forget, learn, unsort
from clsnet.photos.journal import NAME
from clsnet.storage.files import leftovers
from tests.fuzz.killed_writes import SECRET, TINY, write_photos

Found = tuple[dict[str, int], list[str]]
BENCH = ("bench", "Digits-10/5", "--method", "clsnet", "--method", "ncm", "--method", "slda")
COMMANDS = ("learn", "correct", "forget", "photo", "merge", "purge", "undo")
PRETRAIN = ("--epochs", "3", "--size", "8", "--device", "cpu")


def started(*words: object) -> int:
    """Start a command in a fork of this process, which has imported everything, and is silent."""
    if child := os.fork():
        return child
    status = 1
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        sys.argv = ["clsnet", *map(str, words)]
        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    finally:
        os._exit(status)


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed(seconds: float, *words: object) -> bool:
    """Kill a command after some time; tell whether it was still at work."""
    child = started(*words)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return ended(child) == -signal.SIGKILL


def duration(*words: object) -> float:
    start = time.monotonic()
    assert ended(started(*words)) == 0, words
    return time.monotonic() - start


class Model:
    """A model of photos; each of its commands is tried on a copy."""

    def __init__(self, folder: Path) -> None:
        self.start, self.place = folder / "start", folder / "tried"
        self.secret = write_photos(folder / "secret", SECRET, "sand")
        self.start.mkdir()
        learn(self.start / "m", write_photos(folder / "first", "rust", "sea"), backbone=TINY)
        learn(self.start / "m", write_photos(folder / "more", "moss"))
        learn(folder / "other", write_photos(folder / "apart", "clay"), backbone=TINY)
        self.versions = [set(read(self.start / name)[0]["labels"]) for name in ("m", "m.undo")]

    def words(self, command: str) -> tuple[object, ...]:
        model, folder = self.place / "m", self.place.parent
        return {
            "learn": ("learn", model, self.secret),
            "correct": ("correct", model, folder / "first" / "rust", "sea"),
            "photo": ("forget", model, "--photo", folder / "first" / "rust"),
            "merge": ("merge", model, folder / "other", "-o", model, "--overwrite"),
            "forget": ("forget", model, "rust"),
            "purge": ("forget", model, "rust", "--purge"),
            "undo": ("undo", model),
        }[command]

    def fresh(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.start, self.place)

    def lost(self, command: str) -> list[str]:
        """Say what is wrong after a kill: one version must be there, and the next command works."""
        before, older = self.versions
        expected = {
            "learn": [before, before | {SECRET, "sand"}],
            "correct": [before, before - {"rust"}],
            "photo": [before, before - {"rust"}],
            "merge": [before, before | {"clay"}],
            "forget": [before, before - {"rust"}],
            "purge": [before, before - {"rust"}],
            "undo": [before, older],
        }[command]
        try:
            labels = set(read(self.place / "m")[0]["labels"])
            forget(self.place / "m", [], purge=True)
        except Exception as error:
            return [f"{command}: {error!r}"]
        left = sorted(path.name for path in self.place.iterdir())
        return [f"{command}: {labels}, {left}"] if labels not in expected or left != ["m"] else []


def kill_models(kills: int, chance: random.Random, folder: Path, end: float) -> Found:
    """Kill commands on models."""
    scene = Model(folder)
    tried, wrong = {}, []
    for command in COMMANDS:
        for _ in range(2):  # the first is slower than others
            scene.fresh()
            most = duration(*scene.words(command))
        tried[command] = 0
        while tried[command] < kills and time.monotonic() < end:
            scene.fresh()
            tried[command] += killed(chance.uniform(0, most), *scene.words(command))
            wrong += scene.lost(command)
    return tried, wrong


def kill_bench(kills: int, chance: random.Random, folder: Path, end: float) -> Found:
    """Kill one benchmark again and again; what it finished stays as it is, to the byte."""
    out = folder / "runs"
    words = (*BENCH, "--out", out, "--jobs", 1)
    most = duration(*words)
    tried, wrong = 0, []
    shutil.rmtree(out)
    finished: dict[Path, bytes] = {}
    while tried < kills and time.monotonic() < end:
        tried += killed(chance.uniform(0, most), *words)
        for path, data in finished.items():
            if not path.exists() or path.read_bytes() != data:
                wrong.append(f"bench: {path} was lost")
        finished = {path: path.read_bytes() for path in out.rglob("*.json")}
        for path in finished:
            try:
                read_run(path)
            except Exception as error:
                wrong.append(f"bench: {error!r}")
        if len(finished) == 3:
            shutil.rmtree(out)
            finished = {}
    return {"bench": tried}, wrong


def kill_pretrain(kills: int, chance: random.Random, folder: Path, end: float) -> Found:
    """Kill training again and again; its checkpoint never goes back, and the weights are whole."""
    photos = write_photos(folder / "photos", "rust", "sea", "moss")
    out = folder / "w.safetensors"
    words = ("pretrain", f"folder:{photos}", "--out", out, *PRETRAIN)
    most = duration(*words)
    whole, tried, wrong = out.read_bytes(), 0, []
    checkpoint = out.with_name(f"{out.name}.checkpoint")
    while tried < kills and time.monotonic() < end:
        out.unlink(missing_ok=True)
        before = checkpoint.exists()
        tried += killed(chance.uniform(0, most), *words)
        if before and not checkpoint.exists() and not out.exists():
            wrong.append("pretrain: the checkpoint was lost")
        if out.exists() and out.read_bytes() != whole:
            wrong.append("pretrain: other weights")
    out.unlink(missing_ok=True)
    if ended(started(*words)) or out.read_bytes() != whole:
        wrong.append("pretrain: does not go on to the same weights")
    if leftovers(out) or leftovers(checkpoint) or checkpoint.exists():
        wrong.append("pretrain: something is left")
    return {"pretrain": tried}, wrong


def kill_sorts(kills: int, chance: random.Random, folder: Path, end: float) -> Found:
    """Kill sorting, by copies and by moves; no photo is lost, and undoing puts all back."""
    photos = write_photos(folder / "photos", "rust", "sea", "moss", each=20)
    learn(folder / "m", photos, backbone=TINY)
    inbox, out = folder / "inbox", folder / "sorted"
    contents = Counter(file.read_bytes() for file in photos.rglob("*.png"))
    tried, wrong = {"sort": 0, "sort --move": 0}, []

    def fresh() -> None:
        shutil.rmtree(inbox, ignore_errors=True)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(photos, inbox)

    for kind in tried:
        words = (*kind.split(), folder / "m", inbox, "--into", out, "--go", "--reject", 0)
        for _ in range(2):
            fresh()
            most = duration(*words)
        while tried[kind] < kills and time.monotonic() < end:
            fresh()
            tried[kind] += killed(chance.uniform(0, most), *words)
            left = Counter(file.read_bytes() for file in folder.rglob("[!.]*.png"))
            if not left - contents >= contents:  # those of `photos` come on top
                wrong.append(f"{kind}: a photo was lost")
            if (out / NAME).exists():
                unsort(out)
            back = Counter(file.read_bytes() for file in inbox.rglob("*.png"))
            others = [file.name for file in out.rglob("*") if file.is_file()]
            others = [name for name in others if not name.startswith(f".{NAME}.")]
            if back != contents or others:
                wrong.append(f"{kind}: not all was put back, {others}")
    return tried, wrong


KINDS = {kill_sorts: 10, kill_bench: 30, kill_pretrain: 10, kill_models: 25}
"""How often each is killed; models by seven commands, photos by two: more than 200 kills."""


def measured(kinds: Mapping[Callable[..., Any], int], seconds: float) -> dict[str, Any]:
    """Kill commands so many times, until the time is up."""
    chance, tried, wrong = random.Random(0), {}, []
    last = time.monotonic() + seconds
    for left, (kind, kills) in zip(range(len(kinds), 0, -1), kinds.items(), strict=True):
        end = time.monotonic() + (last - time.monotonic()) / left
        with tempfile.TemporaryDirectory() as name:
            found, told = kind(kills, chance, Path(name).resolve(), end)
            tried |= found
            wrong += told
    return {"kills": tried, "lost": len(wrong), "examples": wrong[:20]}


if __name__ == "__main__":
    import clsnet.cli.app
    import clsnet.data
    import clsnet.evaluation.pool
    import clsnet.pretraining  # noqa: F401

    print(json.dumps(measured(KINDS, float((sys.argv[1:] or ["600"])[0])), indent=1))
