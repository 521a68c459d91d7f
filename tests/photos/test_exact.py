"""Exact forgetting, through the real network and files."""

import shutil

import numpy as np
import pytest
from PIL import Image

from clsnet import load
from clsnet.photos import forget, learn

pytest.importorskip("openvino")


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    """Few photos of a and c, several batches of b."""
    folder = tmp_path_factory.mktemp("classes")
    random = np.random.default_rng(0)
    for name, n in {"a": 7, "b": 70, "c": 9}.items():
        (folder / name).mkdir()
        for i in range(n):
            pixels = random.integers(0, 256, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{i}.png")
    return folder


def taught(path, classes, *tasks):
    for number, names in enumerate(tasks):
        folder = path.with_name(f"{path.stem}-{number}")
        for name in names:
            shutil.copytree(classes / name, folder / name)
        learn(path, folder)
    return path


def test_forgetting_leaves_the_weights_of_a_model_that_never_saw_the_class(classes, tmp_path):
    forget(taught(tmp_path / "forgot.clsnet", classes, "ab", "c"), ["b"])
    taught(tmp_path / "never.clsnet", classes, "ac")
    forgot, never = (load(tmp_path / f"{name}.clsnet") for name in ("forgot", "never"))
    assert forgot.classes_.tolist() == never.classes_.tolist() == ["a", "c"]
    difference = np.linalg.norm(forgot.classifier_.omega - never.classifier_.omega)
    assert difference <= 1e-8 * np.linalg.norm(never.classifier_.omega)
    for name, trace in never.classifier_.traces.items():
        assert np.array_equal(trace.cross, forgot.classifier_.traces[name].cross)
