"""Good model files, small, of every kind, to be edited."""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from clsnet import CLSNet
from clsnet.extractor import Augmentation, Identity, Patches

X, Y = load_digits(return_X_y=True)
SMALL = {"groups": 2, "group_size": 3}
PATCHES = Patches(filters=2, sizes=(3,), pool=2)
VECTORS = {
    "total": SMALL,
    "tasks": {**SMALL, "retain": "tasks", "queue": 3, "short_term": (0,), "gamma": (1.0, 1.0)},
    "classes": {**SMALL, "retain": "classes", "class_weight": {1: 2.0}},
    "nodes": {**SMALL, "backbone": Identity("sample"), "connection": "Z+G"},
    "tuned": {**SMALL, "backbone": "identity", "connection": "A"},
    "low-rank": {**SMALL, "backbone": "identity", "curvature": "low-rank", "rank": 5},
    "diagonal": {**SMALL, "backbone": "identity", "curvature": "diagonal", "ridge": 0.1},
    "decay": {**SMALL, "retain": "tasks", "forgetting": "decay"},
    "authors": {
        "backbone": Identity("none"),
        "augmentation": Augmentation("G*", 2, 3, unit=True, tanh_nodes=4, relu_nodes=5),
    },
}
IMAGES = {
    "patches": {"backbone": PATCHES, "connection": "Z", "retain": "classes"},
    "patches-nodes": {**SMALL, "backbone": PATCHES, "connection": "G"},
}


def write_seeds(folder: Path) -> list[Path]:
    """Write one file for each kind of model that learns arrays."""
    few = [np.flatnonzero(np.isin(Y, pair))[:40] for pair in ((0, 1), (2, 3))]
    written = []
    for name, options in {**VECTORS, **IMAGES}.items():
        samples = X.reshape(-1, 8, 8) if name in IMAGES else X
        model = CLSNet(random_state=0, device="cpu", **options)
        for rows in few:
            model.partial_fit(samples[rows], Y[rows])
        model.save(folder / f"{name}.clsnet")
        written.append(folder / f"{name}.clsnet")
    words = CLSNet(device="cpu", retain="classes", **SMALL)
    words.partial_fit(X[few[0]], np.array(["cat", "dog"])[Y[few[0]]])
    words.save(folder / "words.clsnet")
    return [*written, folder / "words.clsnet"]


def write_photos(folder: Path) -> tuple[Path, Path]:
    """Write a model of photos, and the photos that it learned."""
    from PIL import Image

    from clsnet.photos import learn

    random = np.random.RandomState(0)
    for name, colour in {
        "rust": (150, 60, 20),
        "sea": (20, 80, 160),
        "sand": (200, 180, 120),
    }.items():
        (folder / "photos" / name).mkdir(parents=True)
        for i in range(6):
            pixels = random.normal(colour, 25, (24, 24, 3)).clip(0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / "photos" / name / f"{i}.png")
    learn(folder / "photos.clsnet", folder / "photos", backbone=PATCHES)
    return folder / "photos.clsnet", folder / "photos"
