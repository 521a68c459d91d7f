import json
from dataclasses import replace

import numpy as np
import pytest

from clsnet.photos.expectation import Expectation
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
    assert empty.rejection.threshold(0.5) == -np.inf


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


def test_what_is_rejected_follows_from_all_classes_known_now(record):
    looks = record.rejection.looks
    assert looks.mean == pytest.approx(0.7)
    assert looks.percentiles[[0, -1]] == pytest.approx([0.5, 0.9], abs=0.01)
    assert record.without(["cat"]).rejection.looks.mean == pytest.approx(0.6)


def test_every_change_makes_what_to_expect_void(record):
    noted = replace(record, expectation=Expectation({"cat": 0.5}, [("cat", "dog", 0.5)], [0.1]))
    assert Record.of(json.loads(json.dumps(noted.notes))) == noted
    assert noted.without(["dog"]).expectation is None
    assert noted.after(Change("2025", "f", {"cat": 1})).expectation is None
    assert noted.moved("dog", None, {"c": (0.5, None)}).expectation is None
    assert noted.renamed({"cat": "tabby"}).expectation is None
    assert Record.merged([noted, record]).expectation is None


def test_a_moment_is_told_in_local_time(record):
    assert local(record.changed)[:4] == record.changed[:4] or local(record.changed)
    assert local("") == ""


def test_records_are_merged_in_the_order_of_their_dates():
    """Dates are of several time zones, and one is none."""
    dates = ["2024-01-02T00:30:00+02:00", "2024-01-01T23:00:00+00:00", "damaged"]
    records = [
        Record([Change(date, "f", {"cat": n})], {"cat": [str(n)]}, {"cat": [n / 10]})
        for n, date in enumerate(dates, start=1)
    ]
    found = Record.merged(records)
    assert [change.counts["cat"] for change in found.history] == [3, 1, 2]
    assert found.digests == {"cat": ["1", "2", "3"]}
    assert found.familiarity == {"cat": [0.1, 0.2, 0.3]}
    assert Record.merged(records[::-1]).history == found.history


def test_a_moved_photo_takes_its_number_along(record):
    record = record.after(Change("2024-02", "february", {"cat": 2}), {"cat": ["a", "c"]})
    assert record.holding("c") == ["cat", "dog"]
    moved = record.moved("cat", "dog", {"a": (0.8, 0.6)})
    assert moved.digests == {"cat": ["b", "c"], "dog": ["a", "c"]}
    assert moved.familiarity == {"dog": [0.5, 0.6, 0.7]}
    assert [change.counts for change in moved.history] == [
        {"cat": 6, "dog": 5},
        {"cat": 1, "dog": 1},
    ]
    gone = record.moved("dog", None, {"c": (0.69, None)})
    assert gone.digests == {"cat": ["a", "b", "c"]}
    assert gone.familiarity == {"cat": [0.9], "dog": [0.5]}
    last = record.moved("cat", "bird", {"c": (0.1, None)})
    assert last.familiarity == {"dog": [0.5, 0.7]}


def test_renamed_classes_keep_what_is_noted_of_them(record):
    renamed = record.renamed({"cat": "tabby"})
    assert renamed.digests == {"tabby": ["b"], "dog": ["c"]}
    assert renamed.history[0].counts == {"tabby": 6, "dog": 5}
    assert "cat" not in json.dumps(renamed.notes)
