"""Test accuracy with the ridge that is chosen, with generalised cross-validation's, and at best.

    python benchmarks/ridge.py [--photos DIR ...] [--fashion fast best] [--out FILE]

Digits is always measured. `--photos` takes folders with a folder for each class, represented by
EfficientNet-Lite0. A part of each class is drawn for learning, three times; all others are tested.
Rows of a file that is there already are kept, unless they are measured again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from clsnet import CLSNet
from clsnet.arrays.devices import CPU
from clsnet.classifier.ridge.error_curve import GRID
from clsnet.classifier.ridge.normal_equations import NormalEquations
from clsnet.classifier.ridge.rule import regress
from clsnet.data import load_dataset
from clsnet.estimator.features import new_extractor
from clsnet.extractor import Augmentation, Extractor
from clsnet.extractor.backbones import resolve_backbone

Features = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
PHOTOS = (5, 10, 30, 80)
TRIED = [ridge for ridge in GRID if 1e-7 <= ridge <= 100]


def measured(A: np.ndarray, y: np.ndarray, tested: np.ndarray, right: np.ndarray) -> list[float]:
    """Return the accuracy with the chosen ridge, generalised cross-validation's, and the best."""
    Y = (y[:, None] == np.unique(y)).astype(float)
    gram = A.T.astype(float) @ A
    equations = NormalEquations(gram, A.T @ Y, len(y), counts=Y.sum(axis=0))

    def accuracy(ridge: float | str) -> float:
        scores = tested @ regress(equations, ridge).omega
        return float((np.unique(y)[scores.argmax(axis=1)] == right).mean())

    return [accuracy("auto"), accuracy("gcv"), max(map(accuracy, TRIED))]


def drawn(y: np.ndarray, n_each: int, seed: int) -> np.ndarray:
    random = np.random.RandomState(seed)
    own = (random.permutation(np.flatnonzero(y == label)) for label in np.unique(y))
    return np.concatenate([rows[:n_each] for rows in own])


def photo_features(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    backbone = resolve_backbone("efficientnet-lite0", (3, 224, 224), "last", views=1)
    extractor = Extractor(backbone, Augmentation("Z"), seed=0)
    classes = sorted(path for path in folder.iterdir() if path.is_dir())
    parts, labels = [], []
    for label, path in enumerate(classes):
        images = [Image.open(file).convert("RGB") for file in sorted(path.iterdir())]
        sides = (backbone.size, backbone.size)
        X = np.stack(
            [np.asarray(image.resize(sides, Image.Resampling.BICUBIC)) for image in images]
        )
        X = X.transpose(0, 3, 1, 2)
        if not extractor.dimension:
            extractor.fit(X[:1], CPU)
        parts.append(extractor.transform(X))
        labels += [label] * len(X)
    return np.concatenate(parts).astype(float), np.array(labels)


def image_features(X: np.ndarray, y: np.ndarray, preset: str) -> tuple[np.ndarray, np.ndarray]:
    extractor = new_extractor(CLSNet(preset=preset), X.shape[1:]).fit(X, CPU)
    parts = [extractor.transform(X[i : i + 4096]) for i in range(0, len(X), 4096)]
    return np.concatenate(parts), y


def rows(given: argparse.Namespace) -> Iterator[tuple[str, int, list[Features]]]:
    """Yield each set of features, samples per class, and what is learned and tested."""
    digits = load_digits()
    A, y = image_features(digits.images, digits.target, "fast")
    sets = [("Digits, fast", A, y, (10, 30, 100))]
    sets += [(f"photos: {path.name}", *photo_features(path), PHOTOS) for path in given.photos]
    for name, A, y, sizes in sets:
        for n_each in sizes:
            splits = []
            for seed in range(3):
                own = drawn(y, n_each, seed)
                rest = np.setdiff1d(np.arange(len(y)), own)
                splits.append((A[own], y[own], A[rest], y[rest]))
            yield name, n_each, splits
    for preset in given.fashion:
        data = load_dataset("FashionMNIST")
        A, y = image_features(data.X_train, data.y_train, preset)
        tested, right = image_features(data.X_test, data.y_test, preset)
        for n_each in (100, 1000, 6000) if preset == "fast" else (6000,):
            own = drawn(y, n_each, 0)
            yield f"FashionMNIST, {preset}", n_each, [(A[own], y[own], tested, right)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--photos", type=Path, nargs="*", default=[])
    parser.add_argument("--fashion", nargs="*", default=[], choices=["fast", "best"])
    parser.add_argument("--out", type=Path, default=Path("results/bench/ridge.json"))
    given = parser.parse_args()
    record = json.loads(given.out.read_text()) if given.out.exists() else {"accuracy": {}}
    for name, n_each, splits in rows(given):
        found = np.mean([measured(*split) for split in splits], axis=0)
        n, size = splits[0][0].shape
        record["accuracy"][f"{name}, {n_each} a class"] = {
            "samples / features": round(n / size, 2),
            "chosen": round(found[0], 4),
            "gcv": round(found[1], 4),
            "best": round(found[2], 4),
        }
        given.out.write_text(json.dumps(record, indent=1) + "\n")
        print(name, n_each, found.round(4), flush=True)


if __name__ == "__main__":
    main()
