"""What goes wrong is told in words, nothing is lost, and the page goes on."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clsnet import photos as verbs
from clsnet.extractor import Patches
from clsnet.storage import locks
from clsnet.storage.locks import locked


def code(found):
    status, told = found
    assert told["error"]["message"]
    return status, told["error"]["code"]


def test_what_is_no_photo_is_named(page, send, photos, tmp_path):
    (tmp_path / "notes.jpg").write_text("no photo")
    (tmp_path / "empty.png").touch()
    bad = [tmp_path / "notes.jpg", tmp_path / "empty.png"]
    found = send(page, "predict", [*bad, *photos("red")[:1]])[1]["answers"]
    assert [("error" in one) for one in found] == [True, True, False]
    assert found[0]["error"].startswith("cannot read the image notes.jpg: ")
    done = send(page, "learn", [*bad, *photos("red")], **{"class": "red"})[1]
    assert (done["learned"], [one["name"] for one in done["unreadable"]]) == (
        4,
        ["notes.jpg", "empty.png"],
    )
    status, none = send(page, "learn", bad, **{"class": "red"})
    assert status == 422
    assert none["error"]["message"].startswith("there is no photo to learn. The first of 2")
    assert "/tmp" not in none["error"]["message"]


@pytest.mark.parametrize(
    "name", ["", "  ", "x" * 10_000, "a\x1b[31mb", "a\0b", "line\nline", "\u202egpj.cat"]
)
def test_a_name_that_is_none_is_refused(page, send, photos, model, name):
    before = model.read_bytes()
    assert code(send(page, "learn", photos("red"), **{"class": name})) == (400, "bad-name")
    assert model.read_bytes() == before


@pytest.mark.parametrize(
    "text", ["{}", '{"classes": []}', '{"classes": "red"}', "[]", "", "{", "[" * 9999, "\xff"]
)
def test_malformed_json_is_refused(page, text):
    headers = {"content-type": "application/json"}
    response = page.post("/api/v1/forget", content=text.encode("latin-1"), headers=headers)
    assert (response.status_code, response.json()["error"]["code"]) == (400, "bad-json")


def test_photos_are_needed(page, send):
    for verb in ("predict", "learn", "correct", "forget", "merge"):
        response = page.post(f"/api/v1/{verb}", files={"class": (None, "red")})
        assert response.status_code == 400, verb
        assert page.post(f"/api/v1/{verb}", content=b"x").status_code == 415


def test_too_many_photos_are_refused(page, send, photos):
    many = photos("red") * 17
    assert code(send(page, "predict", many)) == (413, "too-many")


def test_two_who_teach_at_once_both_succeed(open_page, send, photos, model):
    tabs = [open_page(model), open_page(model)]
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(send, tab, "learn", photos(colour), **{"class": colour})
            for tab, colour in zip(tabs, ("red", "blue"), strict=True)
        ]
        assert [job.result()[0] for job in jobs] == [200, 200]
    assert tabs[0].get("/api/v1/info").json()["photos"] == 32


def test_a_model_that_another_process_changes_for_long_is_busy(
    page, send, photos, model, monkeypatch
):
    monkeypatch.setattr(locks, "WAIT_SECONDS", 0.2)
    done, held = threading.Event(), threading.Event()

    def hold():
        with locked(model):
            held.set()
            done.wait(30)

    other = threading.Thread(target=hold)
    other.start()
    held.wait(30)
    try:
        assert code(send(page, "learn", photos("red"), **{"class": "red"})) == (409, "busy")
        assert send(page, "predict", photos("red"))[0] == 200
    finally:
        done.set()
        other.join()
    assert send(page, "learn", photos("red"), **{"class": "red"})[0] == 200


def test_a_model_that_is_deleted_is_told_and_can_be_taught_anew(page, send, photos, model):
    assert send(page, "predict", photos("red"))[0] == 200
    model.unlink()
    assert code(send(page, "predict", photos("red"))) == (404, "no-model")
    assert code(send(page, "correct", photos("red"), **{"class": "red"})) == (404, "no-model")
    assert page.get("/api/v1/model").status_code == 404
    assert page.get("/api/v1/export").status_code == 404
    assert page.get("/api/v1/info").json()["exists"] is False
    assert page.post("/api/v1/forget", json={"classes": ["red"]}).status_code == 404


def test_advice_is_for_the_page_and_not_for_the_command_line(
    page, send, photos, model, colours, open_page, tmp_path
):
    total = tmp_path / "total.clsnet"
    verbs.learn(total, colours / "photos", backbone=Patches(filters=4, pool=2), keep="total")
    shutil.copy(model, tmp_path / "other.clsnet")
    for path, colour in ((model, "red"), (tmp_path / "other.clsnet", "blue")):
        shutil.copytree(colours / "more" / colour, tmp_path / colour / "red")
        verbs.learn(path, tmp_path / colour)
    in_total = open_page(total).post("/api/v1/forget", json={"classes": ["red"]})
    found = {
        "; new=true creates it.": send(page, "correct", photos("green"), **{"class": "rad"})[1],
        ": send them to forget, then": send(page, "merge", [tmp_path / "other.clsnet"], "model")[1],
        "was made with sums for each class": send(page, "merge", [total], "model")[1],
        "name: send its photos to forget.": in_total.json(),
    }
    for advice, told in found.items():
        message = told["error"]["message"]
        assert advice in message
        assert "--" not in message
        assert "clsnet forget" not in message


def test_a_damaged_model_is_told(page, send, photos, model):
    model.write_bytes(model.read_bytes()[:1000])
    status, told = send(page, "predict", photos("red"))
    assert (status, told["error"]["code"]) == (422, "not-done")
    assert "m.clsnet" in told["error"]["message"]
    assert page.get("/api/v1/info").status_code == 422


def test_a_full_disk_loses_nothing(page, send, photos, model, full_disk):
    before = model.read_bytes()
    with full_disk(len(before) // 2):
        assert code(send(page, "learn", photos("red"), **{"class": "red"})) == (507, "disk-full")
        assert send(page, "predict", photos("red"))[0] == 200
    with full_disk(100):
        assert code(send(page, "predict", photos("red"))) == (507, "disk-full")
    assert model.read_bytes() == before
    assert send(page, "learn", photos("red"), **{"class": "red"})[0] == 200


def test_no_upload_is_left(page, send, photos, tmp_path):
    root = page.app.app.state.bench.scratch.root
    assert root.stat().st_mode & 0o077 == 0
    send(page, "predict", photos("red"))
    send(page, "learn", photos("red"), **{"class": ""})
    send(page, "learn", photos("red"), **{"class": "red"})
    page.get("/api/v1/export")
    assert [path for path in root.rglob("*") if path.parent != root] == []


def test_a_file_name_is_never_a_path(page, photos):
    names = ("../../../x.png", "/etc/passwd", "a/b.png", "..\\x.png", "x" * 2000, "\x1b[31m.png")
    data = photos("red")[0].read_bytes()
    files = [("file", (name, data)) for name in names]
    found = page.post("/api/v1/predict", files=files)
    assert found.status_code == 200
    assert all(one["label"] == "red" for one in found.json()["answers"])
    assert all(len(one["name"]) <= 255 for one in found.json()["answers"])
    assert "\\u001b" not in found.text
    assert not Path("/tmp/x.png").exists()
