"""What a file holds: sums of each class or in total, and the network's weights or not."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from clsnet import load
from clsnet.errors import ClsnetError
from clsnet.photos import forget, info, learn, predict, undo
from clsnet.photos.about import FACTOR, KINDS, NO_PHOTO, SUMS, inferable


@pytest.fixture(scope="module")
def taught_in_total(tiny, taught, tmp_path_factory):
    """A model that learned january, and keeps only the total."""
    path = tmp_path_factory.mktemp("total") / "total.clsnet"
    learn(path, taught.with_name("january"), backbone=tiny, keep="total")
    return path


@pytest.fixture
def in_total(taught_in_total, tmp_path):
    """A copy of it."""
    return Path(shutil.copy(taught_in_total, tmp_path))


@pytest.fixture
def weights(tmp_path, write_network):
    return tmp_path / write_network(tmp_path / "weights.safetensors")


def complaint(call):
    with pytest.raises(ClsnetError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def prepared(folder, n):
    """Leave n photos in each class."""
    for place in folder.iterdir():
        for i in range(n, 10):
            (place / f"{i}.png").unlink()
    return folder


# ------------------------------------------------------------------------------- the total


def test_a_total_gives_the_same_answers(in_total, model, january, february):
    for path in (in_total, model):
        learn(path, february)
    one, two = load(in_total).classifier_, load(model).classifier_
    assert one.labels == two.labels
    scale = abs(two.omega).max()
    np.testing.assert_allclose(one.omega, two.omega, rtol=0, atol=1e-8 * scale)
    assert [p.label for p in predict(in_total, [january], reject=0)] == [
        p.label for p in predict(model, [january], reject=0)
    ]


def test_a_total_does_not_grow_with_the_classes_but_for_their_weights(in_total, february):
    learn(in_total, february)  # the first 30 photos were kept as a factor
    before = info(in_total)
    shutil.move(february / "square-g", february / "another")
    learn(in_total, february)
    after = info(in_total)
    D = after.features
    assert after.kept[SUMS["total"]] - before.kept[SUMS["total"]] == 8 * D
    assert after.kept[KINDS["omega"]] - before.kept[KINDS["omega"]] == 8 * D


def test_a_total_cannot_forget_a_class_and_says_what_to_do(in_total):
    before = in_total.read_bytes()
    line = complaint(lambda: forget(in_total, ["square-r"]))
    assert "keeps one total" in line
    assert "learn the other classes into a new model" in line
    assert in_total.read_bytes() == before


def test_what_is_kept_cannot_change(in_total, model, february):
    for path, keep in ((in_total, "classes"), (model, "total")):
        before = path.read_bytes()
        line = complaint(lambda path=path, keep=keep: learn(path, february, keep=keep))
        assert f"cannot go on with --keep {keep}" in line
        assert path.read_bytes() == before
    learn(in_total, february, keep="total")
    learn(model, february, keep="classes")


def test_only_two_things_can_be_kept(tmp_path, january):
    path = tmp_path / "new.clsnet"
    assert complaint(lambda: learn(path, january, keep="tasks")) == (
        "keep='tasks': use classes or total."
    )
    assert "use classes" in complaint(lambda: learn(path, january, keep="", dry_run=True))
    assert not path.exists()


# ----------------------------------------------------------------------- factors of few photos


def test_a_class_of_few_photos_takes_the_room_of_a_factor(model):
    known = info(model)
    D, n = known.features, 10
    numbers = n * D - n * (n - 1) // 2 + D  # the factor, and the sum of features
    assert known.kept[SUMS["classes"]] == 3 * 8 * numbers
    assert sum(known.kept.values()) == known.size
    assert FACTOR in known.inferable


def test_a_class_learned_in_two_folders_is_forgotten_exactly(model, tiny, shapes_folder, tmp_path):
    shutil.copytree(shapes_folder / "square-y", tmp_path / "more" / "square-r")
    shutil.copytree(shapes_folder / "stripes-y", tmp_path / "more" / "stripes-y")
    learn(model, tmp_path / "more")
    forget(model, ["square-r"])
    never = tmp_path / "never.clsnet"
    for name in ("square-b", "stripes-g", "stripes-y"):
        shutil.copytree(shapes_folder / name, tmp_path / "others" / name)
    learn(never, tmp_path / "others", backbone=tiny)
    one, two = load(model), load(never)
    assert one.classes_.tolist() == two.classes_.tolist()
    omega, expected = one.classifier_.omega, two.classifier_.omega
    assert abs(omega - expected).max() < 1e-8 * abs(expected).max()


@pytest.mark.parametrize(
    ("keep", "n", "words"),
    [
        ("classes", 1, "the features of each photo of these classes: square-b, square-r, stri"),
        ("classes", 2, "the features of each photo of these classes: square-b, square-r, stri"),
        ("classes", 3, "fewer photos than features (97)"),
        ("total", 1, "the features of each photo of these classes: square-b, square-r, stri"),
        ("total", 2, "fewer photos than features (97)"),
    ],
)
def test_info_says_what_can_be_inferred(tiny, january, tmp_path, keep, n, words):
    path = tmp_path / "new.clsnet"
    learn(path, prepared(january, n), backbone=tiny, keep=keep)
    lines = info(path).inferable
    assert any(words in line for line in lines)
    given = any("gives away" in line for line in lines)
    assert given == (n <= (2 if keep == "classes" else 1))


def test_two_photos_can_be_told_from_a_total_where_all_others_are_known(tiny, january, tmp_path):
    prepared(january, 2)
    for name in ("square-b", "square-r"):
        (january / name / "1.png").unlink()
    learn(tmp_path / "new.clsnet", january, backbone=tiny, keep="total")
    lines = info(tmp_path / "new.clsnet").inferable
    assert any("photo of these classes: square-b, square-r, stripes-g." in line for line in lines)


@pytest.mark.parametrize("keep", ["classes", "total"])
@pytest.mark.parametrize(
    "counts", [{"a": 1, "b": 2}, {"a": 1, "b": 5}, {"a": 5, "b": 9}, {"a": 1, "b": 200}], ids=str
)
def test_what_is_said_of_single_photos_does_not_contradict_itself(keep, counts):
    """No class is named both as one whose photos are given away and as one whose are not."""
    lines = inferable(counts, 97, keep)
    given = [line for line in lines if "gives away" in line]
    kept = [line for line in lines if "do not tell those of any one photo" in line]
    assert (NO_PHOTO in lines) == (not given)
    endings = [line.rstrip(".").rpartition(": ")[2] for line in (*given, *kept)]
    named = [label for names in endings for label in names.split(", ")]
    assert len({*named}) == len(named)


def test_a_model_that_forgot_everything_reveals_nothing(model):
    forget(model, ["square-b", "square-r", "stripes-g"])
    assert info(model).inferable == [NO_PHOTO]


# -------------------------------------------------------------------------- self-contained


def test_a_self_contained_model_needs_no_file_of_weights(weights, january, february, tmp_path):
    path = tmp_path / "new.clsnet"
    learn(path, prepared(january, 3), backbone=str(weights), self_contained=True)
    before = predict(path, [january], reject=0)
    weights.unlink()
    assert predict(path, [january], reject=0) == before
    learn(path, prepared(february, 2))
    learn(path, january, backbone=str(weights))
    forget(path, ["square-g"])
    undo(path)
    known = info(path)
    assert known.self_contained
    assert len(known.counts) == 5
    assert known.kept[KINDS["network"]] > 40e6
    assert sum(known.kept.values()) == known.size


def test_a_model_becomes_self_contained_with_the_next_photos(weights, january, february, tmp_path):
    path = tmp_path / "new.clsnet"
    learn(path, prepared(january, 2), backbone=str(weights))
    small = info(path)
    assert not small.self_contained
    assert KINDS["network"] not in small.kept
    nothing = learn(path, january, self_contained=True, allow=str(weights))
    assert re.search(
        "not self-contained: the file changes with the next new photo", nothing.warnings[-1]
    )
    learn(path, prepared(february, 2), self_contained=True, allow=str(weights))
    assert info(path).self_contained
    assert learn(path, january, self_contained=True).warnings == []
    weights.unlink()
    assert len(predict(path, [january])) == 6


def test_a_model_without_a_network_is_self_contained_anyway(model, february):
    assert info(model).self_contained
    learn(model, february, self_contained=True)
    known = info(model)
    assert known.self_contained
    assert KINDS["network"] not in known.kept
