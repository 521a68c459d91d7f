"""Models that forgot something beside fresh ones that never saw it, drawn at random.

``python -m tests.fuzz.forgotten [SECONDS]``: 200 draws in at most so many seconds, as JSON.
"""

import json
import random
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_wine

from clsnet import CLSNet, load
from clsnet.errors import ClsnetError
from clsnet.extractor import Patches
from clsnet.photos import forget, learn, predict
from clsnet.storage import model_file
from tests.fuzz.killed_writes import TINY, write_photos

DRAWS = 200
EQUAL = 1e-8
CLASSES = ("rust", "sea", "sand", "moss")
SMALL = {"groups": 3, "group_size": 4}
OF_VECTORS: tuple[dict[str, Any], ...] = (
    SMALL,
    {"preset": "small"},
    {**SMALL, "backbone": "columns"},
    {"backbone": "identity", "connection": "Z"},
    {"backbone": lambda X: np.asarray(X, float).reshape(len(X), -1) ** 0.5, "connection": "Z"},
)
OF_IMAGES: tuple[dict[str, Any], ...] = (
    SMALL,
    {"preset": "fast"},
    {"backbone": Patches(filters=3, sizes=(3,), pool=2), "connection": "Z"},
    {**SMALL, "backbone": Patches(filters=2, sizes=(3,), pool=2), "connection": "Z+G"},
    {"backbone": "identity", "connection": "Z"},
)


def of_arrays(chance: random.Random, images: bool) -> Counter[str]:
    """Forget a task or a class of a model that learns arrays; count what differs."""
    digits = images or chance.random() < 0.5
    X, y = (load_digits if digits else load_wine)(return_X_y=True)
    X = X.reshape(-1, 8, 8) if images else X
    options = chance.choice(OF_IMAGES if images else OF_VECTORS)
    labels = chance.sample(sorted({*y.tolist()}), 6 if digits else 3)
    size = 2 if digits else 1
    tasks = [labels[i : i + size] for i in range(0, len(labels), size)]
    rows = [np.flatnonzero(np.isin(y, task))[: chance.choice([5, 30, 60])] for task in tasks]
    retain, gone = chance.choice(["tasks", "classes"]), chance.randrange(len(tasks))
    classes = tasks[gone] if retain == "classes" else []
    if classes and chance.random() < 0.5:
        classes = classes[:1]

    def taught(only: list[np.ndarray]) -> CLSNet:
        model = CLSNet(retain=retain, device="cpu", random_state=0, **options)
        for some in only:
            if len(some):
                model.partial_fit(X[some], y[some])
        return model

    forgot = taught(rows)
    try:
        forgot.forget(task=None if classes else gone, classes=classes)
    except ClsnetError:  # an extractor that was fitted to the first task
        return Counter(refused=1)
    left = [some for number, some in enumerate(rows) if classes or number != gone]
    left = [some[~np.isin(y[some], classes)] for some in left]
    never = taught(left)
    columns = [never.classes_.tolist().index(label) for label in forgot.classes_.tolist()]
    apart = abs(forgot.predict_proba(X) - never.predict_proba(X)[:, columns])
    return Counter(
        labels=int((forgot.predict(X) != never.predict(X)).sum()),
        probabilities=int((apart > EQUAL).sum()),
        answers=len(X),
    )


def of_photos(chance: random.Random, folder: Path) -> Counter[str]:
    """Forget classes of a model of photos; its file is compared, too."""
    calls = [
        {
            name: sorted(chance.sample(range(14), chance.randint(1, 14)))
            for name in chance.sample(CLASSES, chance.randint(1, 4))
        }
        for _ in range(chance.randint(1, 4))
    ]
    known = sorted({name for call in calls for name in call})
    if len(known) == 1:
        calls.append({chance.choice([c for c in CLASSES if c not in known]): [1, 2, 3, 4, 5, 6]})
        known = sorted({name for call in calls for name in call})
    gone = chance.sample(known, chance.randint(1, len(known) - 1))

    def taught(place: Path, without: list[str]) -> Path:
        for number, call in enumerate(calls):
            for name in call.keys() - {*without}:
                (place / f"{number}" / name).mkdir(parents=True)
                for i in call[name]:
                    shutil.copy(folder / "photos" / name / f"{i}.png", place / f"{number}" / name)
            if (place / f"{number}").exists():
                learn(place / "m", place / f"{number}", backbone=TINY)
        return place / "m"

    with tempfile.TemporaryDirectory(dir=folder) as name:
        forgot, never = taught(Path(name) / "forgot", []), taught(Path(name) / "never", gone)
        forget(forgot, gone, purge=chance.random() < 0.5)
        found: Counter[str] = Counter(files=int(contents(forgot) != contents(never)))
        for reject in (0.0, 0.05, 0.3):
            one, other = (
                predict(m, [folder / "photos"], top=4, reject=reject) for m in (forgot, never)
            )
            for a, b in zip(one, other, strict=True):
                first, p = zip(*a.top, strict=True)
                second, q = zip(*b.top, strict=True)
                found["answers"] += 1
                found["labels"] += first[0] != second[0]
                found["rejections"] += (a.label is None) != (b.label is None)
                found["probabilities"] += bool(np.abs(np.subtract(p, q)).max() > EQUAL)
        assert load(forgot).classes_.tolist() == load(never).classes_.tolist()
    return found


def contents(path: Path) -> tuple[str, dict[str, bytes]]:
    """Return all that a file holds, but for dates."""
    header, arrays = model_file.read(path)
    header["notes"]["photos"].pop("changed")
    for change in header["notes"]["photos"]["history"]:
        change.pop("date")
    return json.dumps(header), {name: array.tobytes() for name, array in arrays.items()}


def measured(draws: int, seconds: float) -> dict[str, Any]:
    """Make so many draws, until the time is up."""
    end, done = time.monotonic() + seconds, 0
    counted = ("refused", "answers", "labels", "probabilities", "rejections", "files")
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name).resolve()
        write_photos(folder / "photos", *CLASSES, each=14)
        for number in range(draws):
            if time.monotonic() > end:
                break
            chance = random.Random(number)
            kind = number % 3
            found += of_photos(chance, folder) if kind == 2 else of_arrays(chance, kind == 1)
            done += 1
    return {"draws": done, **{name: found[name] for name in counted}}


if __name__ == "__main__":
    print(json.dumps(measured(DRAWS, float((sys.argv[1:] or ["600"])[0])), indent=1))
