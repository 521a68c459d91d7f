import json
from pathlib import Path

import pytest

from clsnet.data import load_sequence
from clsnet.errors import ClsnetError
from clsnet.experiments.measured import find_measured, measure, measured_path
from clsnet.experiments.needs import Measurement
from clsnet.storage.schema import number, record

DIGITS = load_sequence("Digits-10/5")


@pytest.fixture
def mean_pixel() -> Measurement:
    calls = []

    def compute(sequence):
        calls.append(sequence.name)
        assert len(calls) == 1, "it is kept, so it is computed once"
        return {"mean": float(sequence.dataset.X_train.mean())}

    return Measurement("mean-pixel", "Digits-10/5", compute, record({"mean": number(0, 16)}))


def test_a_measurement_is_computed_once_and_then_found(mean_pixel, tmp_path: Path) -> None:
    first = measure(mean_pixel, DIGITS, tmp_path)
    path = tmp_path / "Digits-10/5/mean-pixel.json"
    assert measured_path(tmp_path, mean_pixel) == path
    before = path.read_bytes()
    assert measure(mean_pixel, DIGITS, tmp_path) == first
    assert path.read_bytes() == before
    assert first["values"]["mean"] == DIGITS.dataset.X_train.mean()
    assert first["seconds"] > 0
    assert find_measured(mean_pixel, tmp_path.parent) == first


def test_what_was_never_measured_is_not_found(mean_pixel, tmp_path: Path) -> None:
    assert find_measured(mean_pixel, tmp_path) is None


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1]", '{"values": {"mean": 3}}', None],
    ids=["empty", "half", "list", "few", "odd"],
)
def test_a_broken_file_is_one_line_and_left_alone(mean_pixel, tmp_path: Path, text) -> None:
    path = measured_path(tmp_path, mean_pixel)
    if text is None:
        measure(mean_pixel, DIGITS, tmp_path)
        text = json.dumps({**json.loads(path.read_text()), "values": {"mean": "<b>"}})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    with pytest.raises(ClsnetError, match="is no finished measurement; move it away"):
        measure(mean_pixel, DIGITS, tmp_path)
    assert path.read_text() == text


def test_a_measurement_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def fail(sequence):
        raise ClsnetError("no")

    failing = Measurement("fails", "Digits-10/5", fail, record({}))
    with pytest.raises(ClsnetError, match="no"):
        measure(failing, DIGITS, tmp_path)
    assert not measured_path(tmp_path, failing).exists()
