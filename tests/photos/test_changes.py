import numpy as np
import pytest

from clsnet import load
from clsnet.errors import ClsnetError
from clsnet.extractor.cache import FeatureCache
from clsnet.images import Images
from clsnet.photos import forget, info, learn, predict, undo
from clsnet.photos.finding import find
from clsnet.photos.record import Record
from clsnet.photos.versions import changing


def test_forgetting_tells_what_changed(model):
    before = model.stat().st_size
    gone = forget(model, ["square-r"])
    assert gone.counts == {"square-r": 10}
    assert gone.left == ["square-b", "stripes-g"]
    assert (gone.size_before, gone.size) == (before, model.stat().st_size)
    assert gone.size < before
    assert load(gone.before).classes_.tolist() == ["square-b", "square-r", "stripes-g"]


def test_forgetting_leaves_no_name_and_no_digest(model):
    digests = Record.of(load(model).notes_).digests["square-r"]
    forget(model, ["square-r"])
    held = model.read_bytes()
    assert b"square-r" not in held
    assert not any(digest.encode() in held for digest in digests)


def test_what_was_forgotten_can_be_learned_again(model, january):
    forget(model, ["square-r"])
    learned = learn(model, january)
    assert (learned.counts, learned.new, learned.known) == ({"square-r": 10}, ["square-r"], 20)


def test_an_unknown_class_is_refused(model):
    before = model.read_bytes()
    with pytest.raises(ClsnetError, match="class 'bird' is not known"):
        forget(model, ["square-r", "bird"])
    assert model.read_bytes() == before


def test_undo_brings_the_model_back_to_the_byte_and_again(model, february):
    before = model.read_bytes()
    learn(model, february)
    after = model.read_bytes()
    first = undo(model)
    assert model.read_bytes() == before
    assert (first.again, first.change.folder, len(first.classes)) == (False, "february", 3)
    second = undo(model)
    assert model.read_bytes() == after
    assert (second.again, second.change.folder, len(second.classes)) == (True, "february", 5)


def test_undo_takes_back_the_last_change_only(model, february):
    learn(model, february)
    learned = model.read_bytes()
    forget(model, ["square-r"])
    undone = undo(model)
    assert (undone.change, undone.forgotten, undone.again) == (None, 1, False)
    assert undone.date
    assert undo(model).again
    undo(model)
    assert model.read_bytes() == learned


def test_there_is_nothing_to_undo_after_the_first_learning(model):
    with pytest.raises(ClsnetError, match="there is nothing to undo"):
        undo(model)


def test_undo_works_through_a_symbolic_link(model, february, tmp_path):
    link = tmp_path / "elsewhere" / "link.clsnet"
    link.parent.mkdir()
    link.symlink_to(model)
    before = model.read_bytes()
    learn(link, february)
    undo(link)
    assert link.is_symlink()
    assert model.read_bytes() == before
    assert [path.name for path in link.parent.iterdir()] == ["link.clsnet"]


def test_a_damaged_version_before_is_not_brought_back(model, february):
    learn(model, february)
    after = model.read_bytes()
    model.with_name("m.clsnet.undo").write_bytes(b"damaged")
    with pytest.raises(ClsnetError, match="damaged or not a clsnet model"):
        undo(model)
    assert model.read_bytes() == after


def test_info_counts_every_byte(model, january, february):
    learn(model, february)
    forget(model, ["square-b"])
    known = info(model)
    assert known.counts == {"square-r": 10, "stripes-g": 10, "square-g": 10, "stripes-y": 10}
    assert sum(known.kept.values()) == known.size == model.stat().st_size
    assert all(size > 0 for size in known.kept.values())
    assert [change.folder for change in known.history] == ["january", "february"]
    assert [sum(change.counts.values()) for change in known.history] == [20, 20]


def test_info_says_what_sums_over_few_photos_give_away(model, february):
    for i in range(1, 10):
        (february / "square-g" / f"{i}.png").unlink()
    learn(model, february)
    lines = info(model).inferable
    assert any("features of each photo of these classes: square-g." in line for line in lines)
    assert any("fewer photos than features (97)" in line for line in lines)


def test_info_of_another_model_is_refused(tmp_path, small):
    small().partial_fit([[0.0], [1.0]], [0, 1]).save(tmp_path / "m")
    with pytest.raises(ClsnetError, match="was not made by clsnet learn"):
        info(tmp_path / "m")


def names_beside(model):
    return sorted(path.name for path in model.parent.iterdir() if "m.clsnet" in path.name)


def leave_features(model):
    """Leave what processes of torchrun leave when all of them are killed."""
    model.with_name(".m.clsnet.restart").mkdir()
    (model.with_name(".m.clsnet.restart") / "0-of-2-1-0.features").write_bytes(b"features")


def test_purging_removes_the_version_before_and_what_a_crash_left(model, february):
    learn(model, february)
    for name in (".m.clsnet.01234567.tmp", ".m.clsnet.before", ".m.clsnet.lock"):
        model.with_name(name).write_bytes(model.read_bytes())
    leave_features(model)
    gone = forget(model, ["square-r"], purge=True)
    assert gone.before is None
    assert names_beside(model) == ["m.clsnet"]
    with pytest.raises(ClsnetError, match="there is nothing to undo"):
        undo(model)


def test_purging_needs_no_class(model, february):
    learn(model, february)
    before = model.read_bytes()
    gone = forget(model, [], purge=True)
    assert (gone.counts, len(gone.left)) == ({}, 5)
    assert model.read_bytes() == before
    assert names_beside(model) == ["m.clsnet"]
    with pytest.raises(ClsnetError, match="name the classes to forget"):
        forget(model, [])


def test_info_names_what_lies_beside_and_puts_in_order_what_it_can(model, february):
    learn(model, february)
    left = model.with_name(".m.clsnet.01234567.tmp")
    left.write_bytes(b"half")
    assert info(model).beside == [model.with_name("m.clsnet.undo")]
    assert not left.exists()
    left.write_bytes(b"half")
    with changing(model):  # another command is at work
        left.write_bytes(b"half")
        assert info(model).beside == [model.with_name("m.clsnet.undo"), left]
    predict(model, [february])
    assert not left.exists()


def test_features_kept_for_a_restart_are_told_and_removed_by_the_next_run(
    model, february, monkeypatch
):
    leave_features(model)
    kept = model.with_name(".m.clsnet.restart")
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    with changing(model):
        assert info(model).beside == [kept]
    monkeypatch.delenv("TORCHELASTIC_RESTART_COUNT")
    with changing(model):
        assert info(model).beside == []
    leave_features(model)
    predict(model, [february])
    assert not kept.exists()


def test_cached_features_of_forgotten_photos_are_removed(model, january, tmp_path):
    """Keys of the cache begin with the digests that the model keeps."""
    images = Images([photo.path for photo in find(january).photos], size=64)
    cache = FeatureCache(tmp_path / "cache", "network")
    cache.rows(images.digests(), lambda missing: np.full((30, 50), 7.5, np.float32))
    gone = forget(model, ["square-r"], purge=True, cache=tmp_path / "cache")
    assert gone.cached == 10
    left = cache.path.read_bytes()
    for photo in find(january).photos:
        assert (bytes.fromhex(photo.digest) in left) == (photo.label != "square-r")
    assert left.count(np.float32(7.5).tobytes() * 50) == 20
    before = model.read_bytes()
    with pytest.raises(ClsnetError, match="nowhere holds no cached features"):
        forget(model, ["square-b"], cache=tmp_path / "nowhere")
    assert model.read_bytes() == before
