"""The real commands as processes."""

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from clsnet import photos as verbs
from tests.page.killed import killed_while_teaching
from tests.page.running import Running


def test_serve_refuses_what_is_not_safe(run_warm, model, photos, tmp_path):
    short = tmp_path / "short"
    short.write_text("short\n")
    photo = photos("red", "photos")[0]
    cases = {
        ("serve", model, "--host", "0.0.0.0"): "so a token is needed",
        ("serve", model, "--host", "0.0.0.0", "--token-file", short): "16 characters or more",
        ("serve", model, "--token-file", tmp_path / "none"): "cannot read the token",
        ("serve", tmp_path / "none.clsnet"): "there is no model",
        ("serve", model, "--host", "192.0.2.1", "--token-file", __file__): "the token in",
        ("page", tmp_path, "--no-browser"): "is a folder",
        ("page", photo, "--no-browser"): "0-0.png is damaged or not a clsnet model",
        ("page", tmp_path / "no" / "m.clsnet", "--no-browser"): "there is no folder",
    }
    for words, line in cases.items():
        done = run_warm(*words)
        assert (done.status, done.err.count("\n")) == (2, 1), done
        assert line in done.err


def test_several_processes_answer_as_one(model, photos, tmp_path):
    (tmp_path / "token").write_text("0123456789abcdef\n")
    words = ("--workers", 2, "--teach", "--token-file", tmp_path / "token")
    with Running("serve", model, *words, token="0123456789abcdef") as served:
        expected = [one.label for one in verbs.predict(model, photos("red"))]
        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(served.post, "predict", photos("red")) for _ in range(12)]
            for status, found in (job.result() for job in jobs):
                assert status == 200
                assert [one["label"] for one in found["answers"]] == expected
        assert served.post("learn", photos("red"), **{"class": "red"})[0] == 200
        for _ in range(6):  # whichever process answers
            assert served.get("/api/v1/info")[1]["photos"] == 28
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(20) in (0, 130)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_the_page_ends_and_starts_again(model, photos, ending, tmp_path):
    (scratch := tmp_path / "scratch").mkdir()
    with Running("page", model, scratch=scratch) as page:
        assert len(list(scratch.iterdir())) == 1
        assert page.post("learn", photos("red"), **{"class": "red"})[0] == 200
        page.process.send_signal(ending)
        page.process.wait(20)
        old = page.cookie
    assert list(scratch.iterdir()) == []
    with Running("page", model) as page:
        assert page.get("/api/v1/info")[1]["photos"] == 28
        page.headers["Cookie"] = f"clsnet-{page.port}={old.partition('=')[2]}"
        assert page.get("/api/v1/info")[0] == 401


def test_a_killed_page_loses_no_model():
    found = killed_while_teaching(4)
    assert (found["lost"], found["photos_left"], found["kills"]) == (0, 0, 4)
