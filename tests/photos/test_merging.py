"""Models that learned apart, beside one that learned everything."""

import itertools
import shutil

import pytest
from tests.photos.teaching import taught

from clsnet import load
from clsnet.errors import ClsnetError
from clsnet.photos import correct, forget, info, learn, merge, predict, undo
from clsnet.photos.record import Record


@pytest.fixture(params=["classes", "total"], scope="module")
def keep(request):
    return request.param


HERE = [{"a": range(7), "b": range(40)}]
THERE = [{"b": range(40, 70)}, {"c": range(5)}]


@pytest.fixture(scope="module")
def parts(classes, tmp_path_factory, tiny, keep):
    """Three models, which no test changes."""
    calls = (HERE, THERE, [{"c": range(5, 9)}])
    place = tmp_path_factory.mktemp("parts")
    return [
        taught(place / str(number), classes, some, tiny, keep=keep)
        for number, some in enumerate(calls)
    ]


def weights(path):
    """Return weights by class."""
    model = load(path)
    return dict(zip(model.classes_.tolist(), model.classifier_.omega.T, strict=True))


def assert_same(found, expected, tolerance):
    one, two = weights(found), weights(expected)
    assert one.keys() == two.keys()
    scale = max(abs(column).max() for column in two.values())
    assert max(abs(one[label] - two[label]).max() for label in two) <= tolerance * scale
    assert info(found).counts == info(expected).counts
    digests = [
        {label: sorted(kept) for label, kept in Record.of(load(path).notes_).digests.items()}
        for path in (found, expected)
    ]
    assert digests[0] == digests[1]


def complaint(*arguments, **options):
    with pytest.raises(ClsnetError) as caught:
        merge(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_in_any_order_it_is_the_model_that_saw_all_photos(parts, classes, tmp_path, tiny, keep):
    at_once = taught(
        tmp_path / "whole",
        classes,
        [{"a": range(7), "b": range(70), "c": range(9)}],
        tiny,
        keep=keep,
    )
    before = [path.read_bytes() for path in parts]
    found = []
    for number, order in enumerate(itertools.permutations(parts)):
        done = merge(order, tmp_path / f"merged-{number}.clsnet")
        assert (done.counts, done.shared, done.warnings) == ({"a": 7, "b": 70, "c": 9}, 0, [])
        assert_same(done.path, at_once, 1e-8)
        found.append(done.path)
    for other in found[1:]:
        assert_same(found[0], other, 1e-12)
        assert load(other).classes_.tolist() == ["a", "b", "c"]
    assert [path.read_bytes() for path in parts] == before
    history = info(found[0]).history
    assert [change.date for change in history] == sorted(change.date for change in history)
    assert sorted((change.counts for change in history), key=str) == [
        *({"a": 7, "b": 40}, {"b": 30}, {"c": 4}, {"c": 5}),
    ]
    labels = [
        [one.label for one in predict(path, [classes], reject=0)] for path in (found[0], at_once)
    ]
    assert labels[0] == labels[1]


def test_merging_is_associative(parts, tmp_path):
    a, b, c = parts
    left = merge([merge([a, b], tmp_path / "ab").path, c], tmp_path / "ab-c").path
    right = merge([a, merge([b, c], tmp_path / "bc").path], tmp_path / "a-bc").path
    assert_same(left, right, 1e-12)


def test_a_merged_model_can_be_used_as_any_other(parts, classes, tmp_path, keep, tiny):
    path = merge(parts, tmp_path / "merged.clsnet").path
    correct(path, [classes / "b" / "69.png"], "a")
    forget(path, photos=[classes / "c" / "8.png"])
    calls = [{"a": range(7), "b": range(69), "c": range(8)}]
    calls[0]["a"] = [*calls[0]["a"], classes / "b" / "69.png"]
    assert_same(path, taught(tmp_path / "right", classes, calls, tiny, keep=keep), 1e-8)
    if keep == "classes":
        forget(path, ["b"])
        assert info(path).counts == {"a": 8, "c": 8}


def test_photos_of_both_count_once_where_one_model_has_no_others(parts, classes, tmp_path, keep):
    a, b, _ = parts
    whole = merge([a, b], tmp_path / "whole.clsnet").path
    for order in ([whole, a], [b, whole], [a, b, whole]):
        out = tmp_path / f"again-{len(order)}-{order[0].parent.name}.clsnet"
        done = merge(order, out)
        assert_same(out, whole, 1e-12)
        assert done.shared == sum(done.counts.values()) * (len(order) == 3) or done.shared > 0
    copy = shutil.copy(a, tmp_path / "copy.clsnet")
    done = merge([a, copy], tmp_path / "same.clsnet")
    assert (done.shared, done.counts) == (47, {"a": 7, "b": 40})
    assert_same(done.path, a, 1e-12)


def test_models_that_went_on_from_a_common_one_are_merged(classes, tmp_path, tiny):
    start = taught(tmp_path / "start", classes, [{"a": range(7), "b": range(40)}], tiny)
    one, two = (shutil.copy(start, tmp_path / name) for name in ("one", "two"))
    for path, name, photos in ((one, "b", range(40, 50)), (two, "c", range(9))):
        place = tmp_path / f"more-{name}"
        (place / name).mkdir(parents=True)
        for i in photos:
            shutil.copy(classes / name / f"{i}.png", place / name)
        learn(path, place)
    done = merge([one, two], tmp_path / "both")
    assert (done.counts, done.shared) == ({"a": 7, "b": 50, "c": 9}, 47)
    calls = [{"a": range(7), "b": range(50), "c": range(9)}]
    assert_same(done.path, taught(tmp_path / "whole", classes, calls, tiny), 1e-8)


def test_photos_of_both_that_cannot_be_told_apart_are_refused(classes, tmp_path, tiny, keep):
    one = taught(tmp_path / "one", classes, [{"a": range(7), "b": range(20)}], tiny, keep=keep)
    two = taught(tmp_path / "two", classes, [{"b": range(17, 40), "c": [1]}], tiny, keep=keep)
    line = complaint([one, two], tmp_path / "out")
    assert f"{one} and {two} share 3 photos" in line
    assert ("photos of b," in line) == (keep == "classes")
    assert f"clsnet forget {two} --photo PATH" in line
    assert not (tmp_path / "out").exists()
    forget(two, photos=[classes / "b" / f"{i}.png" for i in (17, 18, 19)])
    calls = [{"a": range(7), "b": range(40), "c": [1]}]
    expected = taught(tmp_path / "whole", classes, calls, tiny, keep=keep)
    assert_same(merge([one, two], tmp_path / "out").path, expected, 1e-8)


def test_the_same_photo_under_two_names_is_told(classes, tmp_path, tiny):
    one = taught(tmp_path / "one", classes, [{"a": range(6)}], tiny)
    two = taught(tmp_path / "two", classes, [{"c": [*range(5), classes / "a" / "0.png"]}], tiny)
    done = merge([one, two], tmp_path / "out")
    assert done.warnings == ["the classes a and c share 1 photo: one of these names may be wrong"]
    assert done.counts == {"a": 6, "c": 6}


def test_classes_are_renamed_for_one_model(classes, tmp_path, tiny, keep):
    one = taught(tmp_path / "one", classes, [{"a": range(7), "b": range(9)}], tiny, keep=keep)
    two = taught(tmp_path / "two", classes, [{"b": range(9, 20), "c": range(6)}], tiny, keep=keep)
    names = {str(two): {"b": "bee", "c": "b"}}
    done = merge([one, two], tmp_path / "out", rename=names)
    assert done.counts == {"a": 7, "b": 15, "bee": 11}
    photos = {"b": [*range(9), *(classes / "c" / f"{i}.png" for i in range(6))]}
    photos |= {"a": range(7), "bee": [classes / "b" / f"{i}.png" for i in range(9, 20)]}
    expected = taught(tmp_path / "whole", classes, [photos], tiny, keep=keep)
    assert_same(done.path, expected, 1e-8)
    assert [change.counts for change in info(done.path).history][1] == {"bee": 11, "b": 6}


@pytest.mark.parametrize(
    ("names", "line"),
    [
        ({"x": "y"}, "class 'x' is not known to "),
        ({"square-r": " "}, "' ' cannot be the name of a class"),
        ({"square-r": "square-b"}, "cannot have two classes of the name 'square-b'"),
        ({"square-r": "x", "square-b": "x"}, "cannot have two classes of the name 'x'"),
    ],
)
def test_names_that_cannot_be(model, classes, tmp_path, tiny, names, line):
    other = taught(tmp_path / "other", classes, [{"a": range(3)}], tiny)
    found = complaint([model, other], tmp_path / "out", rename={model: names})
    assert line in found
    assert not (tmp_path / "out").exists()


def test_what_differs_is_named(model, classes, january, tmp_path, tiny, write_network):
    calls = [{"a": range(3)}]
    total = taught(tmp_path / "total", classes, calls, tiny, keep="total")
    assert "was made with --keep classes" in complaint([model, total], tmp_path / "out")
    from clsnet.extractor import Patches

    other = taught(tmp_path / "other", classes, calls, Patches(filters=3, sizes=(6,), pool=2))
    assert "have different backbone (Patches(filters=4" in complaint([model, other], tmp_path / "o")
    networks = [
        taught(
            tmp_path / str(seed),
            classes,
            calls,
            write_network(tmp_path / f"{seed}.safetensors", seed=seed),
        )
        for seed in (0, 1)
    ]
    allow = [str(tmp_path / f"{seed}.safetensors") for seed in (0, 1)]
    assert "different backbone" in complaint(networks, tmp_path / "out", allow=allow)
    assert "refers to the network" in complaint(networks, tmp_path / "out")


def test_inputs_and_existing_files_are_not_overwritten(model, classes, tmp_path, tiny):
    other = taught(tmp_path / "other", classes, [{"a": range(3)}], tiny)
    before = model.read_bytes(), other.read_bytes()
    assert "is one of the models to merge" in complaint([model, other], model)
    (tmp_path / "there").write_bytes(b"something")
    assert "exists already" in complaint([model, other], tmp_path / "there")
    assert (tmp_path / "there").read_bytes() == b"something"
    link = tmp_path / "link"
    link.symlink_to(other)
    assert "is one of the models" in complaint([model, other], link)
    assert "is given twice" in complaint([model, other, link], tmp_path / "out")
    assert "name two models or more" in complaint([model], tmp_path / "out")
    assert "there is no model" in complaint([model, tmp_path / "none"], tmp_path / "out")
    assert (model.read_bytes(), other.read_bytes()) == before
    done = merge([model, other], model, overwrite=True)
    assert done.counts == {"square-b": 10, "square-r": 10, "stripes-g": 10, "a": 3}
    assert undo(model).learned == 3
    assert model.read_bytes() == before[0]


def test_a_full_disk_leaves_everything_as_it_was(model, classes, tmp_path, tiny, full_disk):
    other = taught(tmp_path / "other", classes, [{"a": range(3)}], tiny)
    before = model.read_bytes()
    for out in (model, tmp_path / "new.clsnet"):
        with full_disk(len(before) // 2), pytest.raises(ClsnetError, match="cannot write"):
            merge([model, other], out, overwrite=True)
        assert model.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["m.clsnet"]


def test_other_models_are_refused(model, tmp_path, small):
    small().partial_fit([[0.0], [1.0]], [0, 1]).save(tmp_path / "vectors")
    assert "did not learn from photos" in complaint([model, tmp_path / "vectors"], tmp_path / "o")
    (tmp_path / "text").write_text("x")
    assert "damaged or not a clsnet model" in complaint([model, tmp_path / "text"], tmp_path / "o")
