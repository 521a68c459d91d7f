"""Hostile strings in every name and every string of a file: what the commands print of them.

``python -m tests.fuzz.hostile_names [SECONDS]``: for at most so many seconds, as JSON.
"""

import copy
import csv
import io
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import safetensors.numpy

from clsnet.cli import main
from clsnet.cli.output import RUN_BY_SPREADSHEETS
from clsnet.photos import learn
from clsnet.storage.model_file import MODEL
from clsnet.storage.tensors import checksum, read_tensors
from tests.fuzz.killed_writes import TINY, write_photos

CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")
CASES = 100  # of each kind
PARTS = (
    *("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "=HYPERLINK(1)", '=cmd|" /C calc"!A0'),
    *("\x1b[31m", "\x1b]0;title\x07", "\x1b[2J", "\x9b2J", "\x07", "\b\b\b", "\x0e", "\x7f", "\r"),
    *("\n", "\u202e", "\u2028", "[bold red]", "[link=x]", "<script>alert(1)</script>", "&lt;", "'"),
    *('"', ",", "a", "é", "\ud800", "\x00", "{0}", "%s", "`x`", "|", "\\", "x" * 200),
)
PHOTO_COMMANDS = (
    ("predict", "--", "MODEL", "PHOTOS"),
    ("predict", "--csv", "--top", "3", "--", "MODEL", "PHOTOS"),
    ("predict", "--json", "--", "MODEL", "PHOTOS"),
    ("predict", "--reject", "0.9", "--", "MODEL", "PHOTOS"),
    ("info", "--", "MODEL"),
    ("test", "--", "MODEL", "PHOTOS"),
    ("test", "--json", "-o", "PAGE", "--", "MODEL", "PHOTOS"),
    ("sort", "--into", "SORTED", "--go", "--", "MODEL", "PHOTOS"),
    ("sort", "--undo", "SORTED"),
    ("merge", "-o", "MERGED", "--", "MODEL", "OTHER"),
    ("correct", "--new", "--", "MODEL", "PHOTO", "CLASS"),
    ("forget", "--photo", "PHOTO", "--", "MODEL"),
    ("learn", "--dry-run", "--", "MODEL", "PHOTOS"),
    ("learn", "--", "MODEL", "PHOTOS"),
    ("forget", "--", "MODEL", "CLASS"),
    ("undo", "--", "MODEL"),
    ("forget", "--purge", "--", "MODEL", "CLASS"),
    ("undo", "--", "MODEL"),
)


def hostile(chance: random.Random, file_name: bool = False) -> str:
    """Return a string that a terminal, a spreadsheet or a browser would obey."""
    text = "".join(chance.choices(PARTS, k=chance.randint(1, 4)))
    if not file_name:
        return text
    text = text.replace("/", "").replace("\x00", "").replace("\ud800", "\udcff")
    return os.fsdecode(os.fsencode(text)[:120]).lstrip(".") or "="


def printed(*words: object) -> tuple[str, str]:
    """Run a command in a fork of this process; return what it prints, and beside."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if (child := os.fork()) == 0:
            status = 70
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                sys.argv = ["clsnet", *map(str, words)]
                main()
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else 1
            except BaseException as error:
                os.write(2, f"Traceback: {error!r}".encode(errors="replace"))
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        os.waitpid(child, 0)
        return tuple(os.pread(file.fileno(), 2**22, 0).decode() for file in (out, err))  # type: ignore[return-value]


def renamed(value: Any, old: str, new: str) -> Any:
    """Return JSON in which a string, wherever it stands, is another."""
    if isinstance(value, dict):
        return {renamed(k, old, new): renamed(item, old, new) for k, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, old, new) for item in value]
    return new if value == old else value


def strings(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the place of every string in JSON: what holds it, and where."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(items):
        if isinstance(item, str):
            yield value, key
        elif isinstance(item, dict | list):
            yield from strings(item)


def edited(value: Any, chance: random.Random) -> Any:
    """Return JSON with a hostile string in place of one of its strings."""
    value = copy.deepcopy(value)
    holder, key = chance.choice(list(strings(value)))
    holder[key] = hostile(chance)
    return value


class Scene:
    """A model, photos and a finished run, whose names and strings are made hostile."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.classes = ["rust", "sea", "sand"]
        self.photos = write_photos(folder / "photos", *self.classes)
        learn(folder / "m", self.photos, backbone=TINY)
        metadata, self.tensors = read_tensors(folder / "m")
        self.header = json.loads(metadata["header"])
        printed("bench", "Digits-10/5", "--method", "ncm", "--out", folder / "runs")
        [file] = (folder / "runs").rglob("*.json")
        self.run = json.loads(file.read_text())
        self.wrong: list[str] = []
        self.commands = 0

    def check(self, *words: object) -> str:
        """Run a command, and look at what it prints."""
        out, err = printed(*words)
        self.commands += 1
        found = CONTROLS.findall(out + err)
        if found or "Traceback" in err:
            self.wrong.append(f"{words!r}: {found!r} {err[-300:]!r}")
        if "--csv" in words:
            cells = [cell for row in csv.reader(io.StringIO(out)) for cell in row]
            run = [cell for cell in cells if cell.startswith(RUN_BY_SPREADSHEETS)]
            self.wrong += [f"{words!r}: the cell {cell!r}" for cell in run]
        return out

    def use(self, model: Path, photos: Path, label: str) -> None:
        """Run all commands on a model."""
        label = label.replace("\x00", "")  # no argument can hold it
        place = Path(tempfile.mkdtemp(dir=self.folder))
        named = {"MODEL": model, "PHOTOS": photos, "CLASS": label, "OTHER": self.folder / "m"}
        named |= {"PHOTO": next(photos.rglob("*.png")), "PAGE": place / "page.html"}
        named |= {"SORTED": place / "sorted\x1b", "MERGED": place / "merged\x1b"}
        for command in PHOTO_COMMANDS:
            self.check(*(named.get(word, word) for word in command))
        if (place / "page.html").exists() and "<script" in (place / "page.html").read_text():
            self.wrong.append(f"{photos}: a script got into the page of a test")

    def names(self, chance: random.Random) -> None:
        """Hostile names of folders, classes, photos and the model, learned from the start."""
        place = Path(tempfile.mkdtemp(dir=self.folder))
        root = place / hostile(chance, file_name=True)
        label = hostile(chance, file_name=True)
        shutil.copytree(self.photos, root)
        (root / "sea").rename(root / label)
        (root / label / "0.png").rename(root / label / f"{hostile(chance, file_name=True)}.png")
        broken = f"{hostile(chance, file_name=True)}!.png"
        (root / label / broken).write_bytes(b"no image")
        model = root / hostile(chance, file_name=True)
        learn(model, root, backbone=TINY)
        self.use(model, root, label)
        self.check("bench", f"folder:{root}/3", "--method", "ncm", "--out", place / "runs\x1b")
        self.check("report", place / "runs\x1b", "-o", place / "\x1b.md")

    def model(self, chance: random.Random) -> None:
        """A model file with a hostile class, or with one hostile string anywhere."""
        place = Path(tempfile.mkdtemp(dir=self.folder))
        label = hostile(chance)
        header = renamed(self.header, chance.choice(self.classes), label)
        if chance.random() < 0.5:
            header = edited(self.header, chance)
        text = json.dumps(header)
        metadata = {"format": MODEL.format, "version": str(MODEL.version), "header": text}
        metadata["checksum"] = checksum(text, self.tensors)
        (place / "m").write_bytes(safetensors.numpy.save(self.tensors, metadata=metadata))
        self.use(place / "m", self.photos, label)

    def run_file(self, chance: random.Random) -> None:
        """A finished run with a hostile string anywhere, and the reports of it."""
        place = Path(tempfile.mkdtemp(dir=self.folder)) / hostile(chance, file_name=True)
        (place / "a" / "b").mkdir(parents=True)
        (place / "a" / "b" / "0.json").write_text(json.dumps(edited(self.run, chance)))
        page, tables = place / "report.html", place / "tables.md"
        self.check("report", place, "-o", page)
        self.check("report", place, "-o", tables)
        if page.exists() and page.read_text().count("<script") != 1:
            self.wrong.append(f"{page}: a script got in")


def measured(most: int, seconds: float) -> dict[str, Any]:
    """Try so many cases of each kind, until the time is up."""
    end, cases = time.monotonic() + seconds, 0
    with tempfile.TemporaryDirectory() as name:
        scene = Scene(Path(name).resolve())
        while cases < most and time.monotonic() < end:
            for kind in (scene.names, scene.model, scene.run_file):
                kind(random.Random(f"{kind.__name__} {cases}"))
            cases += 1
    wrong = scene.wrong
    formulas = sum(": the cell " in line for line in wrong)
    return {
        "cases": 3 * cases,
        "commands": scene.commands,
        "formula_cells": formulas,
        "control_characters_or_tracebacks": len(wrong) - formulas,
        "examples": wrong[:20],
    }


if __name__ == "__main__":
    import clsnet.cli.app
    import clsnet.data
    import clsnet.evaluation.pool
    import clsnet.reporting.page  # noqa: F401

    print(json.dumps(measured(CASES, float((sys.argv[1:] or ["600"])[0])), indent=1))
