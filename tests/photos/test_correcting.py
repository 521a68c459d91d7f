"""Corrections and single photos forgotten, beside models that were taught right at once."""

import shutil

import numpy as np
import pytest
from tests.photos.teaching import taught

from clsnet import load
from clsnet.errors import ClsnetError
from clsnet.photos import correct, forget, info, learn, predict, undo
from clsnet.photos.finding import digest_of
from clsnet.photos.record import Record

CALLS = {
    "few": [{"a": range(7), "b": range(12), "c": range(9)}],
    "many": [{"a": range(7), "b": range(50), "c": range(9)}],
    "in several calls": [{"a": range(7), "b": range(9)}, {"b": range(9, 50), "c": range(9)}],
}
PHOTO = "b", 9  # of the last call that has b


@pytest.fixture(params=["classes", "total"])
def keep(request):
    return request.param


def notes(path):
    """Return what a model notes, but for dates and the familiarity of photos."""
    record = Record.of(load(path).notes_)
    digests = {label: sorted(kept) for label, kept in record.digests.items()}
    return [change.counts for change in record.history], digests


def assert_same(found, expected):
    """Compare two files: weights to 1e-8, and what they note."""
    one, two = load(found), load(expected)
    assert one.classes_.tolist() == two.classes_.tolist()
    assert [task.counts for task in one.tasks_] == [task.counts for task in two.tasks_]
    assert notes(found) == notes(expected)
    omega, literal = one.classifier_.omega, two.classifier_.omega
    assert abs(omega - literal).max() <= 1e-8 * abs(literal).max()
    assert info(found).counts == info(expected).counts


def held(path):
    return {k: len(kept) for k, kept in Record.of(load(path).notes_).familiarity.items()}


def without(calls):
    name, number = PHOTO
    return [
        {label: [i for i in some if (label, i) != (name, number)] for label, some in call.items()}
        for call in calls
    ]


# ------------------------------------------------------------------------------ correcting


@pytest.mark.parametrize(
    ("calls", "label"),
    [
        (CALLS["few"], "c"),
        (CALLS["few"], "new"),
        (CALLS["many"], "c"),
        (CALLS["in several calls"], "a"),
    ],
)
def test_a_corrected_photo_is_as_if_it_had_been_learned_right(
    classes,
    tmp_path,
    tiny,
    keep,
    calls,
    label,
):
    wrong = taught(tmp_path / "wrong", classes, calls, tiny, keep=keep)
    photo = classes / "b" / "9.png"
    done = correct(wrong, [photo], label, new=label == "new")
    assert (done.label, done.moved, done.learned, done.known) == (label, {"b": 1}, 0, 0)
    right = [{**call} for call in without(calls)]
    right[-1][label] = [*right[-1].get(label, []), photo]
    expected = taught(tmp_path / "right", classes, right, tiny, keep=keep)
    assert_same(wrong, expected)
    answers = [predict(path, [classes], reject=0, top=3) for path in (wrong, expected)]
    for one, two in zip(*answers, strict=True):
        assert one.label == two.label
        assert [p for _, p in one.top] == pytest.approx([p for _, p in two.top], abs=1e-8)


def test_a_photo_that_was_not_learned_is_learned(classes, tmp_path, tiny, keep):
    model = taught(tmp_path / "m", classes, [{"a": range(6), "b": range(9)}], tiny, keep=keep)
    done = correct(model, [classes / "b" / "20.png"], "b")
    assert (done.moved, done.learned, done.known) == ({}, 1, 0)
    calls = [{"a": range(6), "b": range(9)}, {"b": [20]}]
    assert_same(model, taught(tmp_path / "right", classes, calls, tiny, keep=keep))
    assert correct(model, [classes / "b" / "20.png"], "a").moved == {"b": 1}


def test_photos_of_all_kinds_at_once(model, january):
    shutil.copy(january / "square-r" / "0.png", january / "square-b" / "copy.png")
    photos = [january / name for name in ("square-r/0.png", "stripes-g/1.png", "square-b/2.png")]
    shutil.copy(photos[0], january / "again.png")
    done = correct(model, [*photos, january / "again.png"], "square-b")
    assert (done.moved, done.known) == ({"square-r": 1, "stripes-g": 1}, 1)
    assert info(model).counts == {"square-b": 12, "square-r": 9, "stripes-g": 9}
    again = correct(model, photos, "square-b")
    assert (again.moved, again.learned, again.known) == ({}, 0, 3)


def test_what_is_right_already_changes_nothing(model, january):
    before = model.read_bytes()
    done = correct(model, [january / "square-r"], "square-r")
    assert (done.moved, done.learned, done.known, done.gone) == ({}, 0, 10, [])
    assert model.read_bytes() == before
    assert not model.with_name("m.clsnet.undo").exists()


def test_a_photo_in_two_classes_is_left_in_one(tmp_path, january, tiny, keep):
    shutil.copy(january / "square-r" / "0.png", january / "square-b" / "copy.png")
    path = tmp_path / "both.clsnet"
    assert "share 1 photo" in learn(path, january, backbone=tiny, keep=keep).warnings[0]
    done = correct(path, [january / "square-r" / "0.png"], "square-b")
    assert done.moved == {"square-r": 1}
    assert info(path).counts == {"square-b": 11, "square-r": 9, "stripes-g": 10}
    (january / "square-r" / "0.png").unlink()
    learn(tmp_path / "right.clsnet", january, backbone=tiny, keep=keep)
    assert_same(path, tmp_path / "right.clsnet")
    undo(path)
    done = correct(path, [january / "square-b" / "copy.png"], "stripes-g")
    assert done.moved == {"square-b": 1, "square-r": 1}
    assert info(path).counts == {"square-b": 10, "square-r": 9, "stripes-g": 11}


def test_a_class_without_photos_is_gone(model, january):
    done = correct(model, [january / "square-r"], "square-b")
    assert (done.moved, done.gone) == ({"square-r": 10}, ["square-r"])
    assert b"square-r" not in model.read_bytes()
    assert info(model).counts == {"square-b": 20, "stripes-g": 10}


def test_a_number_of_the_photo_moves_along(model, january):
    assert held(model) == {"square-b": 10, "square-r": 10, "stripes-g": 10}
    correct(model, [january / "square-r" / "0.png", january / "square-r" / "3.png"], "square-b")
    assert held(model) == {"square-b": 12, "square-r": 8, "stripes-g": 10}


def test_accents_are_the_same_however_they_are_encoded(model, january):
    correct(model, [january / "square-r" / "0.png"], "caf\u00e9", new=True)
    assert correct(model, [january / "square-r" / "1.png"], "cafe\u0301").label == "caf\u00e9"
    assert info(model).counts["caf\u00e9"] == 2


def test_a_correction_is_undone_to_the_byte(model, january):
    before = model.read_bytes()
    correct(model, [january / "square-r" / "0.png"], "square-b")
    after = model.read_bytes()
    undone = undo(model)
    assert (undone.moved, undone.learned, undone.taken, undone.forgotten) == (1, 0, 0, 0)
    assert (undone.change, undone.again) == (None, False)
    assert model.read_bytes() == before
    assert undo(model).again
    assert model.read_bytes() == after


# ------------------------------------------------------------------------- single photos


@pytest.mark.parametrize("calls", CALLS.values(), ids=CALLS)
def test_a_forgotten_photo_is_as_if_it_had_never_been_learned(
    classes,
    tmp_path,
    tiny,
    keep,
    calls,
):
    model = taught(tmp_path / "forgot", classes, calls, tiny, keep=keep)
    gone = digest_of(classes / "b" / "9.png")
    done = forget(model, photos=[classes / "b" / "9.png"], purge=True)
    assert (done.photos, done.counts, done.before) == ({"b": 1}, {}, None)
    assert gone.encode() not in model.read_bytes()
    assert_same(model, taught(tmp_path / "never", classes, without(calls), tiny, keep=keep))


def test_classes_and_photos_are_forgotten_together(model, january, tiny, tmp_path):
    photos = [january / "square-r" / "3.png", january / "square-b" / "3.png"]
    done = forget(model, ["square-r"], photos=photos)
    assert (done.counts, done.photos) == ({"square-r": 10}, {"square-b": 1})
    shutil.rmtree(january / "square-r")
    photos[1].unlink()
    learn(tmp_path / "never.clsnet", january, backbone=tiny)
    assert_same(model, tmp_path / "never.clsnet")
    undone = undo(model)
    assert (undone.forgotten, undone.taken) == (1, 1)


def test_the_last_photos_of_a_class_take_it_along(tmp_path, january, tiny, keep):
    path = tmp_path / "m2.clsnet"
    learn(path, january, backbone=tiny, keep=keep)
    done = forget(path, photos=[january / "square-r"])
    assert (done.photos, done.left) == ({"square-r": 10}, ["square-b", "stripes-g"])
    shutil.rmtree(january / "square-r")
    learn(tmp_path / "never.clsnet", january, backbone=tiny, keep=keep)
    assert_same(path, tmp_path / "never.clsnet")
    assert forget(path, photos=[january]).left == []
    learn(path, january)
    one, two = (load(each).classifier_.omega for each in (path, tmp_path / "never.clsnet"))
    np.testing.assert_allclose(one, two, atol=1e-8 * abs(two).max())


# -------------------------------------------------------------------------------- bad input


@pytest.fixture
def refused(model):
    """Calls what must fail with one line and leave the model as it was."""

    def check(call):
        before = model.read_bytes()
        with pytest.raises(ClsnetError) as caught:
            call()
        assert "\n" not in str(caught.value)
        assert model.read_bytes() == before
        return str(caught.value)

    return check


def test_a_class_that_is_not_there_is_named_with_the_nearest(model, january, refused):
    line = refused(lambda: correct(model, [january / "square-r" / "0.png"], "sqare-b"))
    assert line == (
        "class 'sqare-b' is not known to this model; the nearest is 'square-b'; --new creates it."
    )
    line = refused(lambda: correct(model, [january / "square-r" / "0.png"], "bird"))
    assert line.startswith("class 'bird' is not known to this model, which knows square-b, ")
    assert line.endswith("; --new creates it.")
    for name in ("", " ", "a\0"):
        photo = [january / "square-r" / "0.png"]
        assert "cannot be the name of a class" in refused(
            lambda name=name, photo=photo: correct(model, photo, name, new=True)
        )
    assert "the nearest is 'stripes-g'" in refused(lambda: forget(model, ["stripe-g"]))


def test_photos_that_are_not_there_or_not_photos(model, january, refused, tmp_path):
    (january / "bad.png").write_bytes(b"no image")
    for photo, line in (
        (january / "none.png", "there is no photo or folder"),
        (january / "bad.png", "bad.png: not an image"),
        (tmp_path / "empty", "there is no photo in"),
    ):
        (tmp_path / "empty").mkdir(exist_ok=True)
        assert line in refused(lambda photo=photo: correct(model, [photo], "square-b"))
    good = january / "square-r" / "0.png"
    assert "bad.png" in refused(lambda: correct(model, [good, january / "bad.png"], "square-b"))


def test_a_photo_that_was_not_learned_cannot_be_forgotten(model, january, february, refused):
    photos = [january / "square-r" / "0.png", *sorted((february / "square-g").iterdir())[:3]]
    line = refused(lambda: forget(model, photos=photos))
    assert line.endswith(
        "0.png and 2 other photos were not learned by this model; nothing was changed."
    )


def test_an_edited_file_is_not_the_one_that_was_learned(model, january, refused):
    photo = january / "square-r" / "0.png"
    photo.write_bytes(photo.read_bytes() + b"\0")
    assert "was not learned" in refused(lambda: forget(model, photos=[photo]))


def test_there_must_be_a_model(tmp_path, january):
    for call in (
        lambda: correct(tmp_path / "none", [january], "a"),
        lambda: forget(tmp_path / "none", photos=[january]),
    ):
        with pytest.raises(ClsnetError, match="there is no model"):
            call()


def test_a_full_disk_leaves_the_model_as_it_was(model, january, full_disk):
    before = model.read_bytes()
    for call in (
        lambda: correct(model, [january / "square-r" / "0.png"], "square-b"),
        lambda: forget(model, photos=[january / "square-r" / "0.png"]),
    ):
        with full_disk(len(before) // 2), pytest.raises(ClsnetError, match="it is unchanged"):
            call()
        assert model.read_bytes() == before
        assert sorted(p.name for p in model.parent.iterdir() if "m.clsnet" in p.name) == [
            "m.clsnet"
        ]
