import json
import shutil
import threading

import numpy as np
import pytest
from PIL import Image

from clsnet import CLSNet, load
from clsnet.errors import ClsnetError
from clsnet.extractor import Patches
from clsnet.images import Images
from clsnet.photos import forget, info, learn
from clsnet.photos.finding import find
from clsnet.storage import model_file

ENDING = {"JPEG": "JPG", "TIFF": "TIF"}


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def test_the_model_is_the_one_that_partial_fit_would_give(model, january, tiny):
    photos = find(january).photos
    literal = CLSNet(backbone=tiny, taps="last", views=1, connection="Z", retain="classes")
    images = Images([photo.path for photo in photos], size=64)
    literal.partial_fit(images, np.array([photo.label for photo in photos]))
    taught = load(model)
    np.testing.assert_allclose(taught.classifier_.omega, literal.classifier_.omega, atol=1e-7)
    assert taught.tasks_ == literal.tasks_


def test_counts_and_the_estimate_are_told(tiny, january, tmp_path):
    learned = learn(tmp_path / "new.clsnet", january, backbone=tiny)
    assert learned.counts == {"square-b": 10, "square-r": 10, "stripes-g": 10}
    assert learned.new == ["square-b", "square-r", "stripes-g"]
    assert learned.totals == learned.counts
    assert {*learned.expectation.right} == {*learned.counts}
    share, low, high = learned.expectation.accuracy(learned.totals)
    assert 0.5 < low < share <= high <= 1
    assert learned.warnings == learned.unreadable == []
    assert info(tmp_path / "new.clsnet").expectation == learned.expectation


def test_a_model_that_keeps_the_total_tells_of_the_photos_just_learned(
    tiny, january, february, tmp_path
):
    learn(tmp_path / "new.clsnet", january, backbone=tiny, keep="total")
    learned = learn(tmp_path / "new.clsnet", february)
    assert {*learned.expectation.right} == {"square-g", "stripes-y"}
    assert info(tmp_path / "new.clsnet").expectation is None


def test_the_estimate_is_that_of_a_model_that_never_saw_those_photos(tiny, january, tmp_path):
    random = np.random.default_rng(0)
    for label in ("heads", "tails"):
        (january / label).mkdir()
        for i in range(40):
            noise = random.integers(0, 255, (16, 16, 3)).astype(np.uint8)
            Image.fromarray(noise).save(january / label / f"{i}.png")
    learned = learn(tmp_path / "new.clsnet", january, backbone=tiny)
    right = [learned.expectation.right[label] for label in ("heads", "tails")]
    assert max(right) <= 0.75, "coins cannot be foretold"
    assert {*learned.expectation.confused[0][:2]} == {"heads", "tails"}


def test_learning_twice_does_nothing(model, january):
    before = model.read_bytes()
    learned = learn(model, january)
    assert (learned.counts, learned.known) == ({}, 30)
    assert model.read_bytes() == before
    assert not model.with_name("m.clsnet.undo").exists()


def test_moved_and_renamed_files_are_known(model, january):
    (january / "square-r" / "0.png").rename(january / "square-r" / "other.png")
    assert learn(model, january).counts == {}


def test_later_folders_bring_new_classes_and_more_of_known_ones(model, february, shapes_folder):
    shutil.copytree(shapes_folder / "square-y", february / "square-r")
    learned = learn(model, february)
    assert learned.counts == {"square-g": 10, "square-r": 10, "stripes-y": 10}
    assert learned.new == ["square-g", "stripes-y"]
    taught = load(model)
    assert len(taught.classes_) == 5
    assert taught.classifier_.traces["square-r"].n_samples == 20
    assert len(taught.tasks_) == 2


def test_the_order_of_folders_does_not_matter(model, tiny, january, february, tmp_path):
    learn(model, february)
    other = tmp_path / "other.clsnet"
    learn(other, february, backbone=tiny)
    learn(other, january)
    one, two = load(model), load(other)
    order = [one.classes_.tolist().index(label) for label in two.classes_]
    expected = one.classifier_.omega[:, order]
    assert np.linalg.norm(two.classifier_.omega - expected) < 1e-8 * np.linalg.norm(expected)


def test_forgetting_gives_the_model_that_never_saw_the_class(
    model, tiny, january, february, tmp_path
):
    learn(model, february)
    forget(model, ["stripes-y"])
    shutil.rmtree(february / "stripes-y")
    never = tmp_path / "never.clsnet"
    learn(never, january, backbone=tiny)
    learn(never, february)
    one, two = load(model).classifier_, load(never).classifier_
    assert one.labels == two.labels
    assert np.linalg.norm(one.omega - two.omega) < 1e-8 * np.linalg.norm(two.omega)
    assert b"stripes-y" not in model.read_bytes()


def test_no_photo_and_no_representation_of_one_is_kept(model, january):
    header, tensors = model_file.read(model)
    images = Images([photo.path for photo in find(january).photos], size=64)
    A = load(model).transform(images).astype(float)
    photos = unit(A)
    compared = 0
    for name, tensor in tensors.items():
        for rows in (tensor, tensor.T) if tensor.ndim == 2 else (tensor.reshape(1, -1),):
            if rows.shape[1] == A.shape[1]:
                assert abs(unit(rows.astype(float)) @ photos.T).max() < 1 - 1e-6, name
                compared += 1
    assert compared >= 1 + 3
    record = header["notes"]["photos"]
    assert set(record) == {"history", "digests", "familiarity", "changed", "expectation"}
    assert all(len(digest) == 32 for kept in record["digests"].values() for digest in kept)
    assert str(january) not in json.dumps(header)
    assert model.stat().st_size < sum(each.nbytes for each in tensors.values()) + 10_000


def test_a_dry_run_changes_nothing(model, january, february):
    (february / "square-r").mkdir()
    shutil.copy(january / "square-r" / "0.png", february / "square-r")
    before = model.read_bytes()
    plan = learn(model, february, dry_run=True)
    assert plan.counts == {"square-g": 10, "stripes-y": 10}
    assert (plan.new, plan.known) == (["square-g", "stripes-y"], 1)
    assert model.read_bytes() == before


def test_a_dry_run_makes_no_file(tmp_path, january):
    assert len(learn(tmp_path / "new", january, dry_run=True).counts) == 3
    assert not (tmp_path / "new").exists()


def test_unreadable_photos_are_named_and_left_out(model, february):
    (february / "square-g" / "0.png").write_bytes(b"no image")
    learned = learn(model, february)
    assert learned.counts == {"square-g": 9, "stripes-y": 10}
    assert len(learned.unreadable) == 1
    assert "square-g/0.png: not an image of a known format" in learned.unreadable[0]
    assert learn(model, february).counts == {}


def test_a_folder_of_nothing_readable_is_refused(tmp_path, tiny):
    (tmp_path / "photos" / "cat").mkdir(parents=True)
    (tmp_path / "photos" / "cat" / "a.jpg").write_bytes(b"no image")
    with pytest.raises(ClsnetError, match=r"no photo to learn in photos\. Reason: cannot read"):
        learn(tmp_path / "m", tmp_path / "photos", backbone=tiny)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"])
def test_the_formats_that_people_have(model, tmp_path, format):
    (tmp_path / "more" / "cat").mkdir(parents=True)
    image = Image.new("RGB", (20, 30), "teal")
    image.save(tmp_path / "more" / "cat" / f"a.{ENDING.get(format, format)}", format)
    assert learn(model, tmp_path / "more").counts == {"cat": 1}


def test_few_photos_are_warned_of(model, february):
    for i in range(6):
        (february / "square-g" / f"{i}.png").unlink()
    assert "square-g has 4 photos: more would help" in learn(model, february).warnings


def test_the_same_photos_under_two_names_are_warned_of(model, january, february):
    (january / "square-r").rename(february / "rot")
    line = "the classes rot and square-r share 10 photos: one of these names may be wrong"
    assert line in learn(model, february).warnings


def test_many_pairs_of_classes_with_the_same_photos_are_one_warning(model, january, february):
    for i, name in enumerate("abcdef"):
        shutil.copytree(january / "square-r", february / name)
        (february / name / f"{i}.png").unlink()
    warnings = learn(model, february).warnings
    assert "21 pairs of classes share photos, such as a and b: names may be wrong" in warnings


def test_a_new_class_that_looks_like_an_old_one_is_warned_of(model, january, tmp_path):
    again = tmp_path / "again" / "rouge"
    again.mkdir(parents=True)
    for path in (january / "square-r").iterdir():
        pixels = np.asarray(Image.open(path)).copy()
        pixels[0, 0] = 0
        Image.fromarray(pixels).save(again / path.name)
    warnings = learn(model, tmp_path / "again").warnings
    assert any(line.startswith("rouge looks like square-r: ") for line in warnings), warnings


def test_another_backbone_is_refused_in_one_line(model, tiny, january):
    before = model.read_bytes()
    for wrong in ("patches", Patches(filters=4, pool=3)):
        with pytest.raises(ClsnetError, match=r"learned with the backbone Patches\(filters=4"):
            learn(model, january, backbone=wrong)
    assert model.read_bytes() == before
    assert learn(model, january, backbone=tiny).known == 30


def test_a_file_of_weights_is_told_by_what_it_holds(january, write_network, tmp_path):
    for label in january.iterdir():
        for i in range(1, 10):
            (label / f"{i}.png").unlink()
    one, two = (write_network(tmp_path / f"{seed}.safetensors", seed=seed) for seed in (0, 1))
    learn(tmp_path / "m", january, backbone=one)
    assert load(tmp_path / "m", allow=one).sample_shape_ == (3, 8, 8)
    with pytest.raises(ClsnetError, match=r"refers to the network '/.*0.safetensors'"):
        learn(tmp_path / "m", january, backbone=two)
    with pytest.raises(ClsnetError, match=r"learned with the backbone /.*0.safetensors"):
        learn(tmp_path / "m", january, backbone=two, allow=one)
    same = shutil.copy(one, tmp_path / "same.safetensors")
    assert learn(tmp_path / "m", january, backbone=f"resnet18:{same}", allow=one).known == 3


def test_a_model_of_the_estimator_knows_its_network(january, tmp_path, write_network):
    one = write_network(tmp_path / "one.safetensors")
    same = shutil.copy(one, tmp_path / "same.safetensors")
    images = Images(sorted(january.rglob("*.png")), size=64)
    labels = np.array(["old", "older"] * (len(images) // 2))
    CLSNet(backbone=str(one), connection="Z").partial_fit(images, labels).save(tmp_path / "m")
    learned = learn(tmp_path / "m", january, backbone=f"resnet18:{same}", allow=str(one))
    assert learned.counts["square-b"] == 10


def test_a_backbone_for_vectors_is_refused(tmp_path, january):
    with pytest.raises(ClsnetError, match="for vectors"):
        learn(tmp_path / "m", january, backbone="identity")


def test_a_model_of_something_else_is_refused(tmp_path, january, digits):
    CLSNet().partial_fit(np.eye(4), [0, 1, 0, 1]).save(tmp_path / "m")
    with pytest.raises(ClsnetError, match="did not learn from photos"):
        learn(tmp_path / "m", january)


def test_two_at_once_lose_nothing(model, february, shapes_folder, tmp_path):
    shutil.copytree(shapes_folder / "square-y", tmp_path / "march" / "square-y")
    threads = [
        threading.Thread(target=learn, args=(model, folder))
        for folder in (february, tmp_path / "march")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(load(model).classes_) == 6


def test_a_folder_without_a_readable_photo_says_why(tmp_path, tiny):
    (tmp_path / "photos" / "dog").mkdir(parents=True)
    (tmp_path / "photos" / "dog" / "a.txt").touch()
    with pytest.raises(ClsnetError, match=r"no photo to learn in photos\. 1 file is no photo"):
        learn(tmp_path / "m", tmp_path / "photos", backbone=tiny)
