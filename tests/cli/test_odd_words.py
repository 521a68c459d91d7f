"""Paths and environment variables that nobody meant: one line each."""

import pytest

LONG = "a" * 300


@pytest.mark.parametrize(
    "words",
    [
        ("info", "~nobody-of-that-name/m.clsnet"),
        ("predict", "~nobody-of-that-name/m.clsnet", "x.jpg"),
        ("learn", "m.clsnet", "~nobody-of-that-name/photos"),
        ("info", "/dev/zero"),
        ("forget", "/dev/null", "cat"),
        ("undo", LONG),
        ("predict", LONG, LONG),
        ("bench", "Digits-10/5", "--out", LONG),
        ("report", LONG),
    ],
    ids=str,
)
def test_an_odd_path_is_one_line(run_warm, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    done = run_warm(*words)
    assert done.status == 2
    assert done.out == ""
    assert done.err.startswith("clsnet: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    "variable",
    [
        {"WORLD_SIZE": "many"},
        {"WORLD_SIZE": "-1"},
        {"WORLD_SIZE": "9" * 100},
        {"CLSNET_DATA": "~nobody-of-that-name/data"},
    ],
    ids=str,
)
def test_an_odd_environment_variable_is_one_line(run_clsnet, variable):
    done = run_clsnet("datasets", **variable)
    assert done.status == 2
    assert done.err.startswith("clsnet: ")
    assert done.err.count("\n") == 1
