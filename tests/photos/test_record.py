import json

import numpy as np
import pytest

from clsnet.photos.record import TEMPERATURES, Change, Record


@pytest.fixture
def record() -> Record:
    change = Change(
        "2024-01-01",
        "january",
        {"cat": 6, "dog": 5},
        {"cat": 1, "dog": 1},
        {"cat": 1},
        [("dog", "cat", 1)],
    )
    losses = {"cat": [9.0] * 16 + [1.0], "dog": [0.0, *[9.0] * 16]}
    return Record().after(change, {"cat": ["b"], "dog": ["c"]}, {"cat": [0.9]}, losses)


def test_a_record_survives_json(record):
    assert Record.of(json.loads(json.dumps(record.notes))) == record


def test_of_a_model_without_notes_nothing_is_known():
    empty = Record.of({})
    assert empty == Record()
    assert (empty.temperature(0.3), empty.threshold(0.5)) == (0.3, -np.inf)


def test_a_later_learning_adds_to_what_is_noted(record):
    later = record.after(
        Change("2024-02-01", "february", {"cat": 1}),
        {"cat": ["a"], "bird": ["d"]},
        {"cat": [0.5]},
        {"cat": [1.0] * 17},
    )
    assert later.digests == {"cat": ["a", "b"], "dog": ["c"], "bird": ["d"]}
    assert later.scores == {"cat": [0.5, 0.9]}
    assert later.losses["cat"] == [10.0] * 16 + [2.0]
    assert [change.folder for change in later.history] == ["january", "february"]


def test_nothing_of_a_forgotten_class_remains(record):
    left = record.without(["dog"])
    assert "dog" not in json.dumps(left.notes)
    assert left.history[0].tested == {"cat": 1}
    assert record.without(["cat", "dog"]) == Record()


def test_temperature_is_the_one_of_least_loss(record):
    assert record.temperature(1.0) == TEMPERATURES[0]
    assert record.without(["dog"]).temperature(1.0) == TEMPERATURES[-1]
