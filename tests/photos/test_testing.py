import base64
import hashlib
import html
import io
import re
import shutil

import pytest
from PIL import Image

from clsnet import photos
from clsnet.errors import ClsnetError
from clsnet.photos import predict, testing
from clsnet.photos.interval import wilson
from clsnet.photos.testing_page import MOST, page


def literal(model, folder):
    """Count by hand, photo by photo."""
    found = {"n": 0, "right": 0, "classes": {}, "confused": {}}
    for path in sorted(folder.rglob("*.png")):
        [one] = predict(model, [path], reject=0)
        label, said = path.parent.name, one.label
        own = found["classes"].setdefault(label, [0, 0])
        own[0] += 1
        own[1] += said == label
        found["n"] += 1
        found["right"] += said == label
        if said != label:
            key = label, said
            found["confused"][key] = found["confused"].get(key, 0) + 1
    return found


def test_figures_are_those_counted_by_hand(model, january):
    (january / "square-r" / "0.png").rename(january / "square-b" / "moved.png")
    (january / "stripes-g" / "0.png").rename(january / "square-b" / "moved-too.png")
    tested, by_hand = photos.test(model, january), literal(model, january)
    assert tested.n == by_hand["n"] == 30
    assert tested.accuracy == by_hand["right"] / 30 < 1
    shares = [right / n for n, right in by_hand["classes"].values()]
    assert tested.balanced_accuracy == pytest.approx(sum(shares) / 3)
    assert {(a, b): n for a, b, n in tested.confused} == by_hand["confused"]
    assert tested.confused == sorted(tested.confused, key=lambda pair: -pair[2])
    chances = [one.probability for one in tested.mistakes]
    assert chances == sorted(chances, reverse=True)
    assert {one.path.name for one in tested.mistakes} >= {"moved.png", "moved-too.png"}
    low, high = tested.interval
    assert low < tested.accuracy < high
    assert tested.learned == 30


def test_the_interval_is_that_of_wilson():
    """The ends solve (share - p)^2 = z^2 p (1 - p) / n."""
    for right, n in ((0, 5), (1, 7), (85, 100), (5, 5)):
        for p in wilson(right, n):
            assert 0 <= p <= 1
            assert (right / n - p) ** 2 == pytest.approx(1.959964**2 * p * (1 - p) / n, abs=1e-7)


def test_unknown_folders_count_apart_and_rejection_changes_no_accuracy(model, january, february):
    shutil.copytree(february / "square-g", january / "bird")
    tested = photos.test(model, january, reject=0.9)
    assert (tested.n, tested.unknown) == (30, {"bird": 10})
    assert "bird" not in tested.tested
    none = [one for one in predict(model, [january], reject=0.9) if one.label is None]
    told = sum(tested.rejected.values()) + tested.unknown_rejected.get("bird", 0)
    assert told == len(none) > 0
    assert photos.test(model, january, reject=0).accuracy == tested.accuracy
    shutil.rmtree(january / "square-r")
    for name in ("square-b", "stripes-g"):
        shutil.rmtree(january / name)
    assert photos.test(model, january).n == 0


def test_unreadable_photos_are_told_and_left_out(model, january):
    (january / "square-r" / "0.png").write_bytes(b"no image")
    tested = photos.test(model, january)
    assert tested.n == 29
    assert len(tested.unreadable) == 1
    assert "0.png: not an image" in tested.unreadable[0]


def test_the_page_holds_small_photos_and_escapes_every_name(model, january, tmp_path):
    odd = "<img src=x onerror=alert(1)>"
    shutil.copytree(january / "square-b", january / "square-r" / odd)
    tested = photos.test(model, january, page=tmp_path / "test.html")
    text = (tmp_path / "test.html").read_text()
    assert len(tested.mistakes) >= 10
    assert odd not in text
    assert html.escape(odd) in text
    images = re.findall(r'src="data:image/jpeg;base64,([^"]+)"', text)
    assert len(images) == text.count("<img") == len(tested.mistakes)
    assert Image.open(io.BytesIO(base64.b64decode(images[0]))).size == (128, 128)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = html.unescape(re.search(r'Policy" content="([^"]+)"', text).group(1))
    assert f"style-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "<script" not in text
    assert "http" not in re.sub(r"http-equiv", "", text)


def test_the_page_of_a_hostile_class_and_of_many_mistakes(tmp_path):
    label = 'a"><script>\x1b[31m\ud800'
    mistakes = [testing.Mistake(tmp_path / f"{i}.jpg", label, "b", 0.9) for i in range(MOST + 5)]
    tested = testing.Tested({label: MOST + 5}, {}, {}, mistakes, {label: 1}, unreadable=["x"])
    text = page(tested, label, label)
    text.encode()
    assert "<script" not in text
    assert "\x1b" not in text
    assert f"The {MOST} most confident of {MOST + 5} are shown." in text


def test_bad_input_is_one_line(model, january, tmp_path, full_disk):
    (tmp_path / "empty" / "a").mkdir(parents=True)
    for call, line in (
        (lambda: photos.test(model, tmp_path / "none"), "cannot read the folder"),
        (lambda: photos.test(model, tmp_path / "empty"), "there is no photo in"),
        (lambda: photos.test(model, january, page=model), "is not the name of a page"),
        (lambda: photos.test(tmp_path / "none", january), "cannot read"),
        (lambda: photos.test(model, january, page=tmp_path / "x" / "y.html"), "cannot write"),
    ):
        with pytest.raises(ClsnetError, match=line) as caught:
            call()
        assert "\n" not in str(caught.value)
    (tmp_path / "old.html").write_text("old")
    with full_disk(100), pytest.raises(ClsnetError, match="it is unchanged"):
        photos.test(model, january, page=tmp_path / "old.html")
    assert (tmp_path / "old.html").read_text() == "old"
