import json

import numpy as np
import pytest

from clsnet.photos.record import Change, Record, local


@pytest.fixture
def record() -> Record:
    change = Change("2024-01-01", "january", {"cat": 6, "dog": 5})
    kept = {"cat": [0.9], "dog": [0.5, 0.7]}
    return Record().after(change, {"cat": ["b"], "dog": ["c"]}, kept)


def test_a_record_survives_json(record):
    assert Record.of(json.loads(json.dumps(record.notes))) == record


def test_of_a_model_without_notes_nothing_is_known():
    empty = Record.of({})
    assert empty == Record()
    assert empty.threshold(0.5) == -np.inf


def test_notes_of_version_0_1_are_read(record):
    """They held more, and entries of forgetting; familiarity was another measure."""
    learned = {"date": "2023", "folder": "old", "counts": {"cat": 1}, "tested": {"cat": 1}}
    learned |= {"right": {}, "confused": [["cat", "dog", 1]], "forgotten": 0}
    forgot = {"date": "2024", "folder": "", "counts": {}, "confused": [], "forgotten": 1}
    notes = {"history": [learned, forgot], "digests": {"cat": ["a"]}, "scores": {"cat": [1.0]}}
    found = Record.of({"photos": {**notes, "losses": {"cat": [0.0] * 17}}})
    assert found == Record([Change("2023", "old", {"cat": 1})], {"cat": ["a"]})


def test_a_later_learning_adds_to_what_is_noted(record):
    later = record.after(
        Change("2024-02-01", "february", {"cat": 1}), {"cat": ["a"], "bird": ["d"]}, {"cat": [0.5]}
    )
    assert later.digests == {"cat": ["a", "b"], "dog": ["c"], "bird": ["d"]}
    assert later.familiarity == {"cat": [0.5, 0.9], "dog": [0.5, 0.7]}
    assert [change.folder for change in later.history] == ["january", "february"]
    assert later.changed > record.changed


def test_nothing_of_a_forgotten_class_remains(record):
    left = record.without(["dog"])
    assert "dog" not in json.dumps(left.notes)
    assert left.familiarity == {"cat": [0.9]}
    nothing = record.without(["cat", "dog"])
    assert (nothing.history, nothing.digests, nothing.familiarity) == ([], {}, {})


def test_the_threshold_is_a_quantile_over_all_classes(record):
    assert record.threshold(0.5) == 0.7
    assert record.threshold(0) == -np.inf
    assert record.without(["cat"]).threshold(0.5) == pytest.approx(0.6)


def test_a_moment_is_told_in_local_time(record):
    assert local(record.changed)[:4] == record.changed[:4] or local(record.changed)
    assert local("") == ""
