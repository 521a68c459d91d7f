"""A part of the odd photos of ``make fuzz``: the same ones every time."""

import pytest

pytest.importorskip("PIL")

from tests.fuzz.odd_photos import DAMAGES, good_photo, odd_photo, tried

COUNT = 60


def test_no_odd_photo_stops_learning_or_is_skipped_silently():
    found = tried(5_000, COUNT)
    assert found["crashes"] == []
    assert found["skipped_silently"] == found["not_answered"] == found["answered_differently"] == 0
    assert found["learned"] > COUNT // 4 and found["refused"] > COUNT // 8
    assert found["longest_s"] < 10


def test_photos_follow_from_their_number_and_half_of_them_are_damaged():
    assert odd_photo(7) == odd_photo(7)
    damaged = [odd_photo(number) != good_photo(number) for number in range(40)]
    assert not any(damaged[::2])
    assert sum(damaged[1::2]) > 10
    assert len(DAMAGES) > 10
