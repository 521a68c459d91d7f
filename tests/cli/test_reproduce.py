import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

QUICK = ("forgetting-2", "--quick")
NAMES = ["fashion-mnist", "cifar", "imagenet", "connections", "t-sne", "terms", "orders"]
NAMES += ["trade-off", "forgetting", "forgetting-2", "curvature", "unlearning", "cost"]
NAMES += ["contradictions"]
SMALL = "Digits-10/5/clsnet-demo/0.json"


@pytest.fixture(scope="module")
def made(run_warm, tmp_path_factory):
    """A page of two experiments, computed on Digits as a user starts it."""
    folder = tmp_path_factory.mktemp("reproduced")
    page = folder / "page.html"
    done = run_warm("reproduce", *QUICK, "contradictions", "--out", folder / "runs", "-o", page)
    assert done.status == 0, done.err
    return folder, done.out


# --------------------------------------------------------------------------- what is there


def test_without_a_name_the_experiments_are_listed(run_warm) -> None:
    done = run_warm("reproduce")
    assert done.status == 0, done.err
    places = [done.out.index(f" {name} ") for name in NAMES]
    assert places == sorted(places)
    assert "Table II" in done.out


def test_a_page_is_written_and_the_verdicts_are_told(made) -> None:
    folder, printed = made
    assert (folder / "page.html").stat().st_size > 10_000
    assert "10. Graceful forgetting on the second data set: " in printed
    assert "14. The published rows against their own BWT and FWT: does not hold" in printed
    assert f"Page: {folder / 'page.html'}" in printed


def test_every_run_is_kept_where_a_benchmark_would_look_for_it(made, run_warm) -> None:
    folder, _ = made
    kept = {p.relative_to(folder / "runs").as_posix() for p in folder.rglob("0.json")}
    variants = ("plain", "short_term=0", "short_term=0-1", "short_term=1")
    assert kept == {f"{variant}/{SMALL}" for variant in variants}
    out = folder / "runs/short_term=0"
    option = ("--method", "clsnet-demo", "--option", "short_term=[0]", "--jobs", 1)
    done = run_warm("bench", "Digits-10/5", *option, "--out", out)
    assert f"found in {out / SMALL}" in done.out


def test_a_second_time_nothing_is_computed_and_the_bytes_are_the_same(made, run_warm) -> None:
    folder, _ = made
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    command = ("reproduce", *QUICK, "contradictions", "--out", folder / "runs")
    done = run_warm(*command, "-o", folder / "page.html")
    assert done.status == 0, done.err
    assert "learned in" not in done.out
    assert done.out.count("found in") == 4
    assert before == {path: path.read_bytes() for path in before}


def test_from_a_folder_nothing_is_computed(made, run_warm, tmp_path: Path) -> None:
    folder, _ = made
    command = ("reproduce", "all", "--quick", "--from", folder / "runs")
    pages = [tmp_path / name / "page.html" for name in ("one", "two")]
    for page in pages:
        done = run_warm(*command, "-o", page)
        assert done.status == 0, done.err
    assert "9. Graceful forgetting on FashionMNIST-10/5: not measured yet" not in done.out
    assert "1. All methods on FashionMNIST-10/5: not measured yet" in done.out
    one, two = (page.read_text().replace(str(page.parent), "") for page in pages)
    assert one == two
    assert not (tmp_path / "one/runs").exists()


# ------------------------------------------------------------------------------ bad input


def test_an_unknown_experiment_names_the_nearest(run_warm, tmp_path: Path) -> None:
    done = run_warm("reproduce", "terms", "trade-of", "-o", tmp_path / "page.html")
    assert done.status == 2
    said = "unknown experiment 'trade-of'; did you mean 'trade-off'? See: clsnet reproduce"
    assert done.err == f"clsnet: {said}\n"
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_cannot_be_written_is_said_before_anything_is_run(
    run_warm, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / "runs"
    for page, reason in (
        (tmp_path, "is a folder; name a file"),
        (tmp_path / "file/page.html", "cannot write"),
    ):
        done = run_warm("reproduce", *QUICK, "--out", out, "-o", page)
        assert done.status == 2
        assert done.err.count("\n") == 1
        assert reason in done.err
        assert not out.exists()


def test_a_folder_without_runs_is_one_line(run_warm, tmp_path: Path) -> None:
    done = run_warm("reproduce", "all", "--from", tmp_path, "-o", tmp_path / "page.html")
    assert done.status == 2
    assert done.err.startswith(f"clsnet: {tmp_path} holds no finished run; ")
    assert not (tmp_path / "page.html").exists()


def test_a_missing_data_set_says_what_to_put_where_and_the_others_go_on(
    run_clsnet, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    command = ("reproduce", "imagenet", "contradictions", "--out", tmp_path / "runs", "-o", page)
    done = run_clsnet(*command, CLSNET_DATA=str(tmp_path / "data"))
    assert done.status == 0, done.err
    wanted = f"put tiny-imagenet-200.zip into {tmp_path / 'data/tiny-imagenet-200'}"
    assert wanted in done.out
    assert "3. ImageNet-200 in 5, 10, 20 and 40 tasks: cannot be tested here" in done.out
    assert "14. The published rows against their own BWT and FWT: does not hold" in done.out
    assert wanted in page.read_text()


def test_a_broken_file_is_named_and_left_out(made, run_warm, tmp_path: Path) -> None:
    folder, _ = made
    runs = tmp_path / "runs"
    good = runs / "plain" / SMALL
    good.parent.mkdir(parents=True)
    good.write_bytes((folder / "runs/plain" / SMALL).read_bytes())
    bad = good.with_name("1.json")
    bad.write_text("{")
    points = runs / "Digits-10/5/t-sne.json"
    points.parent.mkdir(parents=True)
    points.write_text('{"values": 3}')
    done = run_warm(
        *("reproduce", "forgetting-2", "t-sne", "--quick", "--from", runs),
        *("-o", tmp_path / "page.html"),
    )
    assert done.status == 0, done.err
    assert f"{bad} is not a finished run; left out." in done.out
    assert f"{points} is no finished measurement" in done.out
    assert "5. t-SNE of samples and representations: not measured yet" in done.out


def test_a_killed_command_goes_on_where_it_stopped(environment, run_warm, tmp_path: Path) -> None:
    command = ("reproduce", *QUICK, "--out", tmp_path / "runs", "-o", tmp_path / "page.html")
    process = subprocess.Popen(
        [sys.executable, "-m", "clsnet", *map(str, command)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
    )
    end = time.monotonic() + 180
    while not (kept := sorted((tmp_path / "runs").rglob("0.json"))):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (tmp_path / "page.html").exists()
    before = kept[0].read_bytes()
    done = run_warm(*command)
    assert done.status == 0, done.err
    assert f"found in {kept[0]}" in done.out
    assert kept[0].read_bytes() == before
    assert len(list((tmp_path / "runs").rglob("0.json"))) == 4
    assert (tmp_path / "page.html").is_file()


def test_a_method_that_fails_is_named_and_the_others_go_on(made, run_warm, tmp_path: Path) -> None:
    """A stored run of another version stands in the way of one of four."""
    folder, _ = made
    old = tmp_path / "runs/short_term=0" / SMALL
    old.parent.mkdir(parents=True)
    run = json.loads((folder / "runs/short_term=0" / SMALL).read_text())
    old.write_text(json.dumps({**run, "version": "0.0.1"}))
    page = tmp_path / "page.html"
    done = run_warm("reproduce", *QUICK, "--out", tmp_path / "runs", "-o", page)
    assert done.status == 0, done.err
    assert f"{old} holds a run with another version (0.0.1)" in done.out
    assert f"{old} holds a run with another version (0.0.1)" in page.read_text()
    assert done.out.count("learned in") == 3
