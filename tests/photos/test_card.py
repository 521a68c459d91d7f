"""Model cards: `clsnet info --card`."""

import json
import shutil

import pytest

from clsnet.errors import ClsnetError
from clsnet.photos import forget, learn
from clsnet.photos.about import NO_PHOTO
from clsnet.photos.card import card


def section(page, title):
    """Return the lines below a heading."""
    lines = page.split(f"\n## {title}\n")[1].split("\n## ")[0].splitlines()
    return [line for line in lines if line]


def test_a_card_tells_what_is_known_how_well_and_from_what(model):
    page = card(model).as_markdown()
    assert page.startswith("# m.clsnet\n\nA classifier of photos into 3 classes, learned from 30 ")
    rows = section(page, "What it knows")[2:]
    assert [row.split(" | ")[:2] for row in rows] == [
        ["| square-b", "10"],
        ["| square-r", "10"],
        ["| stripes-g", "10"],
    ]
    evidence = section(page, "How well, and on what evidence")
    assert evidence[0].startswith("Estimated accuracy on new photos of these classes: **")
    assert evidence[-1].endswith(": 30 photos of 3 classes from january")
    assert len(section(page, "What it cannot tell")) >= 5
    assert any("average look" in line for line in section(page, "What its file reveals"))


def test_a_card_in_json_says_the_same(run_warm, model):
    done = run_warm("info", model, "--card", "--json")
    assert (done.status, done.err) == (0, "")
    found = json.loads(done.out)
    assert found == card(model).as_dict()
    assert found["classes"] == {"square-b": 10, "square-r": 10, "stripes-g": 10}
    low, high = found["estimate"]["interval"]
    assert 0 < low <= found["estimate"]["accuracy"] <= high <= 1
    assert json.loads(run_warm("info", model, "--json").out) == found


def test_the_command_prints_the_card(run_warm, model):
    done = run_warm("info", model, "--card")
    assert (done.status, done.err) == (0, "")
    assert done.out == card(model).as_markdown()


def test_a_card_warns_of_few_photos_and_of_one_class(model, january, tiny, tmp_path):
    forget(model, ["square-b", "stripes-g"])
    alone = card(model)
    assert alone.limits[0].startswith("It knows one class")
    assert "No estimate of the accuracy" in alone.as_markdown()
    few = tmp_path / "few"
    for name in ("square-r", "stripes-g"):
        (few / name).mkdir(parents=True)
        for number in range(3):
            shutil.copy(january / name / f"{number}.png", few / name)
    learn(tmp_path / "few.clsnet", few, backbone=tiny)
    found = card(tmp_path / "few.clsnet")
    assert found.limits[0] == "It has seen fewer than 10 photos of square-r, stripes-g."
    assert found.as_dict()["estimate"] is None
    assert "no class has 5 photos" in found.as_markdown()
    assert "The estimate is" not in found.as_markdown()


def test_a_card_of_a_model_that_forgot_everything_has_no_empty_parts(model):
    forget(model, ["square-b", "square-r", "stripes-g"])
    page = card(model).as_markdown()
    assert "What it knows" not in page
    assert "It learned:" not in page
    assert section(page, "What its file reveals") == [f"- {NO_PHOTO}"]


def test_names_are_shown_as_they_are(january, tiny, tmp_path):
    (january / "square-r").rename(january / "a|b <img src=x> [c](d)")
    learn(tmp_path / "odd.clsnet", january, backbone=tiny)
    page = card(tmp_path / "odd.clsnet").as_markdown()
    (row,) = [line for line in page.splitlines() if line.startswith("| a")]
    assert row.startswith(r"| a\|b \<img src=x\> \[c\](d) | 10 | ")


def test_what_is_no_model_has_no_card(run_warm, tmp_path):
    other = tmp_path / "notes.txt"
    other.write_text("hello")
    with pytest.raises(ClsnetError, match=r"notes\.txt"):
        card(other)
    done = run_warm("info", other, "--card")
    assert done.status != 0
    assert len(done.err.splitlines()) == 1
