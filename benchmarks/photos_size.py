"""Bytes and seconds of a model of 100 classes of 50 photos, by the tool for photos' own settings.

Features stand in for photos: 1,280 numbers behind a ReLU, correlated as those of photographs are.
The file is written by the model's own `save`, its notes as `clsnet learn` writes them. Times are
those of one thread, the least of a few rounds, to which other work on the machine can only add.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # read when NumPy is imported

import numpy as np

from clsnet.evaluation.store import environment
from clsnet.model import Model
from clsnet.photos.noting import familiarity_of, with_expectation
from clsnet.photos.opening import PHOTOGRAPH, blank_model
from clsnet.photos.record import Change, Record, now
from timing import seconds

CLASSES, PHOTOS, MORE = 100, 50, 10
FEATURES, HIDDEN = 1_408, 200
ROUNDS = 7
MB = 1e6


def features(first: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels of classes that lie around centres of their own."""
    mixing = np.random.default_rng(0).standard_normal((HIDDEN, FEATURES)) / HIDDEN**0.5
    random = np.random.default_rng(first + 1)
    y = np.repeat(np.arange(first, first + n_classes), PHOTOS)
    centres = random.standard_normal((n_classes, HIDDEN))
    hidden = centres[y - first] + random.standard_normal((len(y), HIDDEN))
    Z = np.maximum(hidden @ mixing + 0.3 * random.standard_normal((len(y), FEATURES)), 0)
    A = np.pad(Z, ((0, 0), (0, 1)), constant_values=1.0)
    return A.astype(np.float32), np.array([f"class {label:03}" for label in y])


def digests(labels: np.ndarray) -> list[str]:
    return [f"{i:032x}" for i in range(len(labels))]


def learn(model: Model, A: np.ndarray, labels: np.ndarray) -> Model:
    """Do what `clsnet learn` does once it has the features, but for its warnings."""
    learned = model.classifier.learn(lambda: [(A, labels)])
    names = np.unique(labels).tolist()
    change = Change(now(), "photos", dict.fromkeys(names, PHOTOS))
    known = {name: digests(labels[labels == name]) for name in names}
    fits = familiarity_of(learned, A, labels)
    record = Record.of(model.notes or {}).after(change, known, fits)
    return with_expectation(replace(model, classifier=learned, notes=record.notes))


def taught(keep: str) -> Model:
    model = blank_model(keep=keep)
    model.extractor.fit(np.zeros((1, *PHOTOGRAPH), np.uint8), "cpu")
    return learn(model.unlearned(), *features(0, CLASSES))


def main(out: Path | None) -> None:
    times: dict[str, list[float]] = {"add_ten_classes_s": [], "load_s": [], "save_s": []}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.clsnet"

        def size(model: Model, self_contained: bool = False) -> float:
            model.save(path, self_contained=self_contained)
            return path.stat().st_size / MB

        total = size(taught("total"))
        model = taught("classes")
        whole = size(model, self_contained=True)
        classes = size(model)
        more = features(CLASSES, MORE)
        for _ in range(ROUNDS):
            times["save_s"].append(seconds(lambda: model.save(path)))
            times["load_s"].append(seconds(lambda: Model.load(path)))
            again = Model.load(path)
            times["add_ten_classes_s"].append(seconds(lambda again=again: learn(again, *more)))
    result = {
        "command": "python benchmarks/photos_size.py --out results/bench/photos_size.json",
        "classes": CLASSES,
        "photos_per_class": PHOTOS,
        "features": FEATURES,
        "total_mb": total,
        "classes_mb": classes,
        "self_contained_extra_mb": whole - classes,
        **{name: min(values) for name, values in times.items()},
        "threads": 1,
        "environment": environment(),
    }
    print(json.dumps(result, indent=1))
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    main(parser.parse_args().out)
