"""Whether the photo tool notices classes never learned, and whether its figures of itself hold.

    python benchmarks/photos_trust.py DIR NAME [--out results/bench/photos_trust.json]

DIR holds one folder of photos for each class (`train` of Tiny-ImageNet does). Of each split some
classes are drawn at random and learned in several calls; other photos of them, and photos of other
classes, are predicted. Every photo is decoded and given to the network once. The result is added to
the file under NAME.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from clsnet.evaluation.store import environment
from clsnet.images.endings import PLAIN
from clsnet.model import Model
from clsnet.photos.noting import familiarity_of, with_expectation
from clsnet.photos.opening import blank_model
from clsnet.photos.predicting import REJECT
from clsnet.photos.reading import features
from clsnet.photos.record import Change, Record
from clsnet.photos.rejection import familiar
from clsnet.photos.unscaled import Unscaled
from draw import Draw

BINS = 15


def calibration(confidence: np.ndarray, right: np.ndarray) -> tuple[float, list[dict[str, float]]]:
    """Return the expected calibration error, and what each of the bins of equal width holds."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    rows = [
        {
            "photos": int((bins == i).sum()),
            "confidence": float(confidence[bins == i].mean()),
            "accuracy": float(right[bins == i].mean()),
        }
        for i in np.unique(bins)
    ]
    gaps = (row["photos"] * abs(row["confidence"] - row["accuracy"]) for row in rows)
    return sum(gaps) / len(right), rows


def photos_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.name.lower().endswith(PLAIN))


def linked(place: Path, classes: dict[str, list[Path]]) -> Path:
    for name, photos in classes.items():
        (place / name).mkdir(parents=True)
        for photo in photos:
            (place / name / photo.name).write_bytes(photo.read_bytes())
    return place


def taught(blank: Model, A: np.ndarray, y: np.ndarray, calls: list[np.ndarray]) -> Model:
    """Return the model that `clsnet learn` makes of photos in several calls, classes in each."""
    model = blank
    for names in calls:
        own = np.isin(y, names)
        classifier = model.classifier.learn(lambda own=own: [(A[own], y[own])])
        change = Change("", "", dict(Counter(y[own].tolist())))
        digests = {name: [str(i) for i in np.flatnonzero(y == name)] for name in names.tolist()}
        fits = familiarity_of(classifier, A[own], y[own], Unscaled.of(blank.extractor))
        record = Record.of(model.notes or {}).after(change, digests, fits)
        model = Model(**{**vars(model), "classifier": classifier, "notes": record.notes})
    return with_expectation(model)  # it follows from the sums, whatever it was before


def drawn(
    y: np.ndarray, options: argparse.Namespace, split: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the known classes of a split, and the rows of photos to learn and to test."""
    random = np.random.RandomState(split)
    order = random.permutation(np.unique(y))[: options.classes + options.unknown]
    rows = {name: random.permutation(np.flatnonzero(y == name)) for name in order.tolist()}
    known = order[: options.classes]
    train = np.concatenate([rows[name][: options.learn] for name in known.tolist()])
    tests = np.concatenate([each[options.learn :][: options.test] for each in rows.values()])
    return known, train, tests


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--classes", type=int, default=20, help="known ones")
    parser.add_argument("--unknown", type=int, default=20)
    parser.add_argument("--learn", type=int, default=50, help="photos of each known class")
    parser.add_argument("--test", type=int, default=50, help="photos of each class")
    parser.add_argument("--calls", type=int, default=5, help="of learn, as many classes in each")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--without", type=Path, help="a file with names of classes to leave out")
    parser.add_argument("--cache", type=Path, help="a file for the features of photos")
    parser.add_argument("--draw", action="store_true", help="probabilities against accuracy")
    parser.add_argument("--note", default="")
    parser.add_argument("--out", type=Path, default=Path("results/bench/photos_trust.json"))
    options = parser.parse_args()
    left_out = options.without.read_text().split() if options.without else []
    blank = blank_model()
    A, y = read(options, left_out, blank)
    blank = Model.blank(blank.extractor, blank.sample_shape, blank.parameters)
    found, chances, rights = [], [], []
    for split in range(options.splits):
        known, train, tests = drawn(y, options, split)
        calls = np.array_split(known, options.calls)
        model = taught(blank, A[train], y[train], calls)
        record = Record.of(model.notes or {})
        scores = model.classifier.scores(A[tests])
        taken, probabilities = scores.argmax(axis=1), model.probabilities(scores).max(axis=1)
        looks = familiar(model.classifier, A[tests], taken, Unscaled.of(model.extractor))
        fits = record.rejection.fits(looks, scores.max(axis=1))
        rejected = fits < record.rejection.threshold(REJECT)
        is_known = np.isin(y[tests], known)
        right = np.array(model.classes)[taken] == y[tests]
        estimate = record.expectation.accuracy(dict.fromkeys(known.tolist(), 1))[0]
        measured = float(right[is_known].mean())
        chances.append(probabilities[is_known])
        rights.append(right[is_known])
        found.append(
            {
                "AUROC": float(roc_auc_score(is_known, fits)),
                "known rejected": float(rejected[is_known].mean()),
                "unknown rejected": float(rejected[~is_known].mean()),
                "accuracy": measured,
                "estimated less measured": estimate - measured,
            }
        )
    error, bins = calibration(np.concatenate(chances), np.concatenate(rights))
    means = {key: round(float(np.mean([row[key] for row in found])), 4) for key in found[0]}
    means["calibration error"] = round(error, 4)
    settings = ("classes", "unknown", "learn", "test", "calls", "splits")
    details = {
        "splits": found,
        "bins": bins,
        "settings": {key: getattr(options, key) for key in settings},
        "note": options.note,
        "environment": environment(),
    }
    print(options.name, means)
    old = json.loads(options.out.read_text()) if options.out.exists() else {}
    new = {
        "table": {**old.get("table", {}), options.name: means},
        "details": {**old.get("details", {}), options.name: details},
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(new, indent=1) + "\n")
    if options.draw:
        n = len(np.concatenate(rights))
        title = f"{options.name}: {n:,} photos\ncalibration error {error:.3f}"
        Draw(options.out.parent, options.out.stem).reliability("reliability", title, bins)


def read(
    options: argparse.Namespace, left_out: list[str], blank: Model
) -> tuple[np.ndarray, np.ndarray]:
    """Return features and classes of the photos that may be needed, as cached if they are."""
    if options.cache and options.cache.exists():
        kept = np.load(options.cache)
        blank.extractor.fit(np.zeros((1, *blank.sample_shape), np.uint8), "cpu")
        return kept["A"], kept["y"]
    places = [place for place in sorted(options.folder.iterdir()) if place.name not in left_out]
    most = options.learn + options.test
    pairs = [(path, place.name) for place in places for path in photos_of(place)[:most]]
    A, rows, _ = features(blank.extractor, [path for path, _ in pairs], blank.sample_shape[-1])
    y = np.array([pairs[row][1] for row in rows])
    if options.cache:
        np.savez(options.cache, A=A, y=y)
    return A, y


if __name__ == "__main__":
    main()
