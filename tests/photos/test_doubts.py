from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_sample_images
from tests.photos.test_expectation import blobs, taught

from clsnet.classifier.left_out import left_out_scores
from clsnet.errors import ClsnetError
from clsnet.photos import learn
from clsnet.photos.doubts import copies, doubtful, lookalikes
from clsnet.photos.finding import Photo
from clsnet.photos.noting import familiarity_of


def photos(labels):
    return [Photo(Path(f"{i}.jpg"), str(label), f"{i:032x}") for i, label in enumerate(labels)]


def test_photos_far_closer_to_another_class_are_named_and_no_others():
    A, y = blobs(40, spread=0.5)
    wrong = {3: "d", 90: "a", 200: "b"}
    y = np.array([wrong.get(i, label) for i, label in enumerate(y.tolist())])
    classifier = taught((A, y))
    found = doubtful(classifier, A, photos(y), left_out_scores(classifier, A, y))
    assert {int(doubt.path.stem): doubt.label for doubt in found} == wrong
    assert {int(doubt.path.stem): doubt.other for doubt in found} == {3: "a", 90: "c", 200: "f"}
    assert found[0].why == f"looks like {found[0].other}"


def test_classes_of_fewer_than_five_photos_are_not_doubted():
    A, y = blobs(40, range(2), spread=0.5)
    B, _ = blobs(4, [0], spread=0.5, seed=1)
    A, y = np.concatenate([A, B]), np.concatenate([y, ["f"] * 4])
    classifier = taught((A, y))
    assert doubtful(classifier, A, photos(y), left_out_scores(classifier, A, y)) == []


def test_photos_that_look_the_same_in_two_classes_are_named_both():
    A, y = blobs(10, spread=1)
    A[7], A[33] = A[21] * 1.01, A[34]  # the latter two are of one class
    found = copies(A, photos(y))
    assert [(d.path.name, d.why) for d in found] == [
        ("7.jpg", "looks the same as 21.jpg in c"),
        ("21.jpg", "looks the same as 7.jpg in a"),
    ]


def test_a_new_class_that_looks_like_an_old_one_is_told():
    A, y = blobs(30, range(3), spread=0.5)
    old = taught((A, y))
    familiarity = familiarity_of(old, A, y)
    same, _ = blobs(20, [1], spread=0.5, seed=1)
    other, _ = blobs(20, [4], spread=0.5, seed=2)
    new = np.array(["same"] * 20 + ["other"] * 20)
    found = lookalikes(old, np.concatenate([same, other]), new, familiarity)
    assert [(one, known, n) for one, known, _, n in found] == [("same", "b", 20)]
    assert lookalikes(old, same, np.array(["b"] * 20), familiarity) == []
    assert lookalikes(taught(blobs(30, [0])), same, new[:20], {}) == []


@pytest.fixture
def mislabelled(tmp_path):
    """Parts of two photos, one of each in the wrong folder."""
    random = np.random.default_rng(0)
    temple, flower = load_sample_images().images
    for label, mine, other in (("temple", temple, flower), ("flower", flower, temple)):
        (tmp_path / "photos" / label).mkdir(parents=True)
        for i in range(12):
            x, y = random.integers(0, 300), random.integers(0, 180)
            part = (other if i == 7 else mine)[y : y + 240, x : x + 240]
            Image.fromarray(part).save(tmp_path / "photos" / label / f"{i}.png")
    return tmp_path


def test_strict_learning_stops_at_doubts_and_else_they_are_told(mislabelled):
    folder, model = mislabelled / "photos", mislabelled / "m.clsnet"
    with pytest.raises(
        ClsnetError, match=r"nothing was learned: the class of \d+ photos may be wrong"
    ):
        learn(model, folder, strict=True)
    assert not model.exists()
    learned = learn(model, folder)
    assert sorted(doubt.path for doubt in learned.doubts if "looks like" in doubt.why) == [
        folder / "flower" / "7.png",
        folder / "temple" / "7.png",
    ]
    assert model.exists()


def test_the_same_file_in_two_classes_stops_strict_learning_now_and_later(model, january, tiny):
    photo, twin = january / "square-b" / "0.png", january / "square-r" / "twin.png"
    twin.write_bytes(photo.read_bytes())
    fresh = model.with_name("fresh.clsnet")
    with pytest.raises(ClsnetError, match="nothing was learned") as caught:
        learn(fresh, january, backbone=tiny, strict=True)
    assert f"{twin} in square-r, which is the same file as {photo} in square-b" in str(caught.value)
    with pytest.raises(ClsnetError, match="which was learned as square-b already"):
        learn(model, january, strict=True)
    assert not fresh.exists()
