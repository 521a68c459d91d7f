"""How much more accurate `clsnet learn --preset best` is than the default, and how much slower.

    python benchmarks/photos_best.py DIR [--out results/bench/photos_best.json]

DIR holds one folder of photos for each class (TrashNet does). Of each class, 10 and 80 photos drawn
at random are learned, the rest is predicted; both presets get the same photos. Every photo is
decoded and given to each network once.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from clsnet.evaluation.store import environment
from clsnet.photos import learn
from clsnet.photos.predicting import opened
from clsnet.photos.presets import PRESETS
from clsnet.photos.reading import features
from photos_trust import linked, photos_of

LEARN = (10, 80)
SPLITS = 5
MOST = 300  # photos of a class


def rows_of(y: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Draw so many photos of each class."""
    random = np.random.RandomState(seed)
    return np.concatenate(
        [random.choice(np.flatnonzero(y == label), n, replace=False) for label in np.unique(y)]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--out", type=Path, default=Path("results/bench/photos_best.json"))
    options = parser.parse_args()
    places = sorted(place for place in options.folder.iterdir() if place.is_dir())
    photos = {place.name: photos_of(place)[:MOST] for place in places}
    paths = [path for each in photos.values() for path in each]
    y = np.array([name for name, each in photos.items() for _ in each])
    accuracies: dict[str, dict[int, list[float]]] = {}
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        few = linked(place / "few", {name: each[:2] for name, each in photos.items()})
        for preset in PRESETS:
            learn(place / preset, few, preset=preset)
            model = opened(place / preset, ())
            clock = time.process_time()
            A, rows, _ = features(model.extractor, paths, model.sample_shape[-1])
            assert len(rows) == len(paths)
            seconds[preset] = (time.process_time() - clock) / len(paths)
            print(f"{preset}: {seconds[preset]:.3f} seconds of a core a photo", flush=True)
            accuracies[preset] = {n: [] for n in LEARN}
            for n, found in accuracies[preset].items():
                for seed in range(SPLITS):
                    chosen = rows_of(y, n, seed)
                    train = [(A[chosen], y[chosen])]
                    taught = model.unlearned().classifier.learn(lambda train=train: train)
                    rest = np.setdiff1d(np.arange(len(y)), chosen)
                    answers = np.array(taught.labels)[taught.scores(A[rest]).argmax(axis=1)]
                    found.append(float(balanced_accuracy_score(y[rest], answers)))
                print(f"{preset}, {n} photos a class: {np.mean(found):.4f}", flush=True)
    gains = {
        n: [
            100 * (b - a) for a, b in zip(accuracies["fast"][n], accuracies["best"][n], strict=True)
        ]
        for n in LEARN
    }
    found = {
        "command": "python benchmarks/photos_best.py DIR",
        "balanced_accuracy": {
            f"{n} photos a class": {
                preset: float(np.mean(accuracies[preset][n])) for preset in PRESETS
            }
            for n in LEARN
        },
        "points_gained": {f"{n} photos a class": float(np.mean(gains[n])) for n in LEARN},
        "points_gained_least": {f"{n} photos a class": min(gains[n]) for n in LEARN},
        "slower_in_cpu_time": seconds["best"] / seconds["fast"],
        "splits": SPLITS,
        "photos": {name: len(each) for name, each in photos.items()},
        "balanced_accuracy_of_each_split": accuracies,
        "cpu_seconds_a_photo": seconds,
        "environment": environment(),
    }
    print(json.dumps(found, indent=1))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
