"""A small part of the bombs of ``make fuzz``."""

import warnings

import pytest

from tests.fuzz import image_bombs
from tests.fuzz.image_corpus import BOMBS, LARGE


def test_every_bomb_is_decoded_or_refused_in_time():
    found = image_bombs.measured(side=300)
    assert found["other"] == []
    assert found["refused"] > 20 and found["decoded"] > 15
    assert found["longest_s"] < 10


def test_large_images_wait_for_each_other(tmp_path):
    """Eight at once would take more than three gigabytes."""
    (tmp_path / "large.png").write_bytes(BOMBS["tiff-fax"](LARGE))
    found, peak = image_bombs.together([tmp_path / "large.png"], at_once=8)
    assert found == ["decoded"] * 8
    assert peak < 1400


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("tiff-tile", "60000 x 60000 pixels are too many; at most 89 million are read"),
        ("jpeg-scans", "more than 100 scans"),
        ("png-header", "it has too many pixels; at most 89 million are read"),
    ],
)
def test_a_bomb_is_refused_by_its_header(name, reason, tmp_path):
    from clsnet.images.decode import Unreadable, decode

    with warnings.catch_warnings(), pytest.raises(Unreadable, match=reason):
        warnings.simplefilter("ignore")
        decode(BOMBS[name](300))


def test_time_and_reading_are_limited(monkeypatch):
    from clsnet.images import decode

    data = BOMBS["gif-comment"](300)
    monkeypatch.setattr(decode, "SECONDS", -1.0)
    with pytest.raises(decode.Unreadable, match="takes more than"):
        decode.decode(data)
    monkeypatch.undo()
    monkeypatch.setattr(decode, "READ_AGAIN", 0)
    with pytest.raises(decode.Unreadable, match="the same bytes too often"):
        decode.decode(data)
