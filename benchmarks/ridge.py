"""Test accuracy with the ridge that is chosen, with generalised cross-validation's, and at best.

    python benchmarks/ridge.py [--digits] [--photos DIR ...] [--fashion fast best] [--out FILE]
    python benchmarks/ridge.py --network FILE --seed S --data DIR [--tiny fast best]

`--photos` takes folders with a folder for each class, represented by EfficientNet-Lite0. A part of
each class is drawn for learning, three times; all others are tested. `--network` is pretrained on
the base classes of that seed; the other 100 classes of Tiny-ImageNet are learned. Rows of a file
that is there already are kept, unless they are measured again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from clsnet import CLSNet
from clsnet.arrays.devices import CPU, Array, to_device, to_numpy
from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.ridge.error_curve import GRID
from clsnet.classifier.rule import Rule
from clsnet.data import load_dataset, load_sequence
from clsnet.estimator.features import new_extractor
from clsnet.extractor import Augmentation, Extractor
from clsnet.extractor.backbones import resolve_backbone

Features = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
PHOTOS = (5, 10, 30, 80)
TRIED = [ridge for ridge in GRID if 1e-7 <= ridge <= 100]


def accuracies(known: AnalyticClassifier, tested: Array, right: np.ndarray) -> list[float]:
    """Return the accuracy with the chosen ridge, generalised cross-validation's, and the best."""

    def accuracy(ridge: float | str) -> float:
        rule = replace(known.rule, ridge=ridge)
        solved = replace(known, rule=rule, stale=True, factor=None).consolidated()
        taken = to_numpy(solved.scores(tested)).argmax(axis=1)
        return float((np.array(solved.labels)[taken] == right).mean())

    return [accuracy("auto"), accuracy("gcv"), max(map(accuracy, TRIED))]


def measured(A: np.ndarray, y: np.ndarray, tested: np.ndarray, right: np.ndarray) -> list[float]:
    """Return the three accuracies of features."""
    blank = AnalyticClassifier(Rule(), A.shape[1], CPU)
    return accuracies(blank.observe(lambda: [(A, y)]), tested, right)


def on_network(given: argparse.Namespace, preset: str) -> tuple[int, int, list[float]]:
    """Return the numbers of samples and features, and the three accuracies on Tiny-ImageNet."""
    sequence = load_sequence("TinyImageNet-100/1", given.data)
    [task] = sequence.tasks(sequence.order(given.seed, 0))
    model = CLSNet(preset=preset, backbone=str(given.network)).partial_fit(
        task.X_train, task.y_train
    )
    known = model.model_.classifier
    parts = [model.transform(task.X_test[i : i + 500]) for i in range(0, len(task.y_test), 500)]
    tested = to_device(np.concatenate(parts), known.device)
    return len(task.y_train), known.dimension, accuracies(known, tested, task.y_test)


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
    sets = []
    if given.digits:
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
    parser.add_argument("--digits", action="store_true")
    parser.add_argument("--photos", type=Path, nargs="*", default=[])
    parser.add_argument("--fashion", nargs="*", default=[], choices=["fast", "best"])
    parser.add_argument("--network", type=Path)
    parser.add_argument("--tiny", nargs="*", default=["fast", "best"], choices=["fast", "best"])
    parser.add_argument("--seed", type=int, default=0, help="of the network's base classes")
    parser.add_argument("--data", type=Path, help="where Tiny-ImageNet is")
    parser.add_argument("--out", type=Path, default=Path("results/bench/ridge.json"))
    given = parser.parse_args()
    record = json.loads(given.out.read_text()) if given.out.exists() else {"accuracy": {}}

    def keep(name: str, n: int, size: int, found: list[float]) -> None:
        ratio = {"samples / features": round(n / size, 2)}
        values = zip(("chosen", "gcv", "best"), found, strict=True)
        record["accuracy"][name] = ratio | {what: round(value, 4) for what, value in values}
        given.out.write_text(json.dumps(record, indent=1) + "\n")
        print(name, record["accuracy"][name], flush=True)

    for name, n_each, splits in rows(given):
        found = np.mean([measured(*split) for split in splits], axis=0).tolist()
        keep(f"{name}, {n_each} a class", *splits[0][0].shape, found)
    for preset in given.tiny if given.network else ():
        name = f"TinyImageNet-100/10, {preset}, {given.network.stem}, seed {given.seed}"
        keep(f"{name}, 500 a class", *on_network(given, preset))


if __name__ == "__main__":
    main()
