"""Corrected, forgotten and merged photos beside models that were taught right at once.

    python benchmarks/photos_exact.py DIR [--out results/bench/photos_exact.json]

DIR holds one folder of photos for each class. 25 photos of each of five classes are learned with
EfficientNet-Lite0; three of them are moved to another class, or taken out; or two models that
learned a part each are merged. ``difference`` is the largest difference of a weight to that of a
model that learned the right photos at once, over the largest weight.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np

from clsnet import load
from clsnet.evaluation.store import environment
from clsnet.photos import correct, forget, learn, merge
from clsnet.photos.finding import photos_below

CLASSES, PHOTOS, WRONG, HALF = 5, 25, 3, 12
Photos = dict[str, list[Path]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/bench/photos_exact.json"))
    options = parser.parse_args()
    places = sorted(place for place in options.folder.iterdir() if place.is_dir())[:CLASSES]
    photos = {place.name: list(photos_below(place))[:PHOTOS] for place in places}
    found: dict[str, dict[str, float]] = {}
    for keep in ("classes", "total"):
        with tempfile.TemporaryDirectory() as name:
            for verb, difference in _differences(Path(name), photos, keep).items():
                found.setdefault(verb, {})[f"keep {keep}"] = difference
    figures = {
        "difference": found,
        "command": "python benchmarks/photos_exact.py DIR",
        "environment": environment(),
    }
    print(json.dumps(figures, indent=1))
    options.out.write_text(json.dumps(figures, indent=1) + "\n")


def _differences(folder: Path, photos: Photos, keep: str) -> dict[str, float]:
    """Return how far each verb is from a model that was taught right at once."""
    first, second, *_ = photos
    wrong, rest = photos[first][:WRONG], photos[first][WRONG:]
    learned = _taught(folder / "learned", photos, keep)
    never = _taught(folder / "never", {**photos, first: rest}, keep)
    right = {**photos, first: rest, second: [*photos[second], *wrong]}
    at_once = _taught(folder / "right", right, keep)
    here = {label: files[:HALF] for label, files in list(photos.items())[1:]}
    there = {label: files[HALF if label in here else 0 :] for label, files in photos.items()}
    parts = [_taught(folder / "here", here, keep), _taught(folder / "there", there, keep)]
    merged = merge(parts, folder / "merged").path
    corrected, forgot = (shutil.copy(learned, folder / name) for name in ("corrected", "forgot"))
    correct(corrected, wrong, second)
    forget(forgot, photos=wrong)
    return {
        "correct": _apart(corrected, at_once),
        "forget --photo": _apart(forgot, never),
        "merge": _apart(merged, learned),
    }


def _taught(place: Path, photos: Photos, keep: str) -> Path:
    for label, files in photos.items():
        (place / "photos" / label).mkdir(parents=True)
        for file in files:
            shutil.copy(file, place / "photos" / label)
    learn(place / "model", place / "photos", keep=keep)
    return place / "model"


def _apart(one: Path, other: Path) -> float:
    """Return the largest difference of a weight, over the largest weight."""
    models = [load(path, device="cpu") for path in (one, other)]
    columns = [np.argsort(model.classes_) for model in models]
    a, b = (m.classifier_.omega[:, own] for m, own in zip(models, columns, strict=True))
    return float(abs(a - b).max() / abs(b).max())


if __name__ == "__main__":
    main()
