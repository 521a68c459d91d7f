import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from clsnet.extractor import Patches
from clsnet.photos import learn


@pytest.fixture(scope="session")
def tiny() -> Patches:
    """A backbone that takes a millisecond: 96 features of images of 64x64 pixels."""
    return Patches(filters=4, sizes=(6,), pool=2)


@pytest.fixture
def january(shapes_folder, tmp_path) -> Path:
    """Three classes of ten photos."""
    return _copied(shapes_folder, tmp_path / "january", ["square-r", "stripes-g", "square-b"])


@pytest.fixture
def february(shapes_folder, tmp_path) -> Path:
    """Two more classes of ten."""
    return _copied(shapes_folder, tmp_path / "february", ["stripes-y", "square-g"])


@pytest.fixture(scope="session")
def taught(tiny, shapes_folder, tmp_path_factory) -> Path:
    """A model that learned january."""
    folder = tmp_path_factory.mktemp("taught")
    _copied(shapes_folder, folder / "january", ["square-r", "stripes-g", "square-b"])
    learn(folder / "m.clsnet", folder / "january", backbone=tiny)
    return folder / "m.clsnet"


@pytest.fixture
def model(taught, tmp_path) -> Path:
    """A copy of it."""
    return Path(shutil.copy(taught, tmp_path / "m.clsnet"))


@pytest.fixture(scope="session")
def classes(tmp_path_factory) -> Path:
    """Few photos of a and c, several batches of b."""
    folder = tmp_path_factory.mktemp("classes")
    random = np.random.default_rng(0)
    for name, n in {"a": 7, "b": 70, "c": 9}.items():
        (folder / name).mkdir()
        for i in range(n):
            pixels = random.integers(0, 256, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{i}.png")
    return folder


def _copied(source: Path, target: Path, classes: list[str]) -> Path:
    for name in classes:
        shutil.copytree(source / name, target / name)
    return target
