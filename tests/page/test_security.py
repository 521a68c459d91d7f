"""Who may ask, from where, and how much."""

import pytest
from starlette.testclient import TestClient

from clsnet.page.app import page_app
from clsnet.page.scratch import Scratch
from clsnet.page.session import Session
from clsnet.page.workbench import Workbench
from tests.page.conftest import HOSTS, ORIGIN, PORT
from tests.page.hostile import attacked


def test_the_link_works_once_and_gives_a_cookie_that_scripts_cannot_read(model):
    session = Session(PORT)
    with TestClient(page_app(Workbench(model), session, HOSTS), base_url=ORIGIN) as first:
        link = f"/?token={session.token}"
        assert first.get("/").status_code == 401
        assert first.get("/?token=guess").status_code == 401
        entered = first.get(link, follow_redirects=False)
        cookie = entered.headers["set-cookie"].lower()
        assert (entered.status_code, entered.headers["location"]) == (303, "/")
        assert f"clsnet-{PORT}=" in cookie and "httponly" in cookie and "samesite=strict" in cookie
        assert first.get("/").status_code == 200
        assert first.get(link).status_code == 200  # again in the same browser: the page
        first.cookies.clear()
        assert first.get(link).status_code == 401


def test_every_answer_has_the_headers(page):
    for path in ("/", "/api/v1/info", "/nothing", "/api", "/static/main.js"):
        headers = page.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'self'; ")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "", "x@y"])
def test_other_hosts_are_refused(page, host):
    assert page.get("/api/v1/info", headers={"host": host}).status_code == 403
    assert page.get("/", headers={"host": host}).status_code == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": f"http://localhost:{PORT}"}, 403),
        ({"origin": ORIGIN, "sec-fetch-site": "cross-site"}, 403),
        ({"origin": ORIGIN, "sec-fetch-site": "same-site"}, 403),
        ({}, 403),
        ({"sec-fetch-site": "same-origin"}, 422),
        ({"origin": ORIGIN}, 422),
    ],
)
def test_only_the_page_itself_may_change_something(page, headers, status):
    del page.headers["origin"]
    response = page.post("/api/v1/undo", headers=headers)
    assert response.status_code == status, response.text


def test_other_pages_may_not_even_read(page):
    for site in ("cross-site", "same-site"):
        assert page.get("/api/v1/model", headers={"sec-fetch-site": site}).status_code == 403


def test_a_program_needs_the_token_and_may_not_teach(open_api, model, photos):
    api = open_api(model, token="a-long-random-word")
    file = {"file": ("a.png", photos("red")[0].read_bytes())}
    for wrong in ({}, {"authorization": "Bearer x"}, {"authorization": "a-long-random-word"}):
        assert api.post("/api/v1/predict", files=file, headers=wrong).status_code == 401
    api.headers["authorization"] = "Bearer a-long-random-word"
    answer = api.post("/api/v1/predict", files=file).json()["answers"][0]
    assert answer["label"] == "red"
    refused = api.post("/api/v1/learn", files=file, data={"class": "red"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "read-only")
    for verb in ("correct", "forget", "undo", "merge"):
        assert api.post(f"/api/v1/{verb}").status_code == 403
    assert api.get("/api/v1/info").json()["readonly"]
    assert api.get("/").status_code == 404
    evil = api.post("/api/v1/predict", files=file, headers={"origin": "http://evil.example"})
    assert evil.status_code == 403


def test_a_program_may_teach_if_the_server_says_so(open_api, model, photos, send):
    api = open_api(model, teach=True)
    assert send(api, "learn", photos("red"), **{"class": "red"})[0] == 200


def test_hostile_requests_are_refused(tmp_path):
    found = attacked(110)
    assert found["examples"] == []
    assert (found["accepted"], found["crashed"], found["model_changed"]) == (0, 0, False)
    assert found["left_behind"] == []
    assert len(found["kinds"]) == 9


def test_what_killed_servers_left_is_swept(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    living, dead = Scratch(), Scratch()
    (dead.root / "x").mkdir()
    (dead.root / "x" / "0000.jpg").touch()
    dead._claim.release()  # as the system does when a process ends
    (tmp_path / "clsnet-uploads-link").symlink_to(tmp_path)
    later = Scratch()
    assert living.root.exists() and later.root.exists()
    assert not dead.root.exists()
    living.close()
    later.close()
