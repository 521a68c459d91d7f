import json
import subprocess
import sys

import numpy as np
import pytest

from clsnet import __version__
from clsnet.errors import ClsnetError
from clsnet.evaluation.answers import Answers
from clsnet.evaluation.protocol import Outcome
from clsnet.evaluation.store import read_run, read_runs, record, run_path, write_run

OUTCOME = Outcome(
    R=[[1.0], [0.5, 0.75]],
    independent=[1.0, 1.0],
    seconds={"learn": 1.5, "predict": 0.5},
    memory={"model_mb": 2.0, "exemplar_mb": 0.0},
)


@pytest.fixture
def run():
    return record(
        OUTCOME,
        sequence="Digits-4/2",
        method="clsnet",
        config={"preset": "fast"},
        order=[(1, 2), (3, 4)],
        seed=7,
        protocol="agnostic",
        answers=Answers(np.ones(8, dtype=bool), np.arange(8) < 5, "4d1a"),
    )


def test_a_record_holds_what_the_design_says(run):
    assert run["order"] == [[1, 2], [3, 4]]
    assert run["R"] == OUTCOME.R
    assert (run["avg_acc"], run["bwt"], run["fwt"]) == (0.625, -0.5, -0.25)
    assert Answers.unpacked(run["answers"]).right.sum() == 5
    assert run["order_free"] is False
    assert run["version"] == __version__
    environment = run["environment"]
    assert list(environment) == ["python", "torch", "numpy", "processor", "threads", "gpu"]
    assert int(environment["threads"]) >= 1


def test_the_environment_is_told_without_importing_torch():
    code = (
        "import sys; from clsnet.evaluation.store import environment; print(environment()); "
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "'gpu': 'none'" in done.stdout


def test_a_run_is_read_as_it_was_written(tmp_path, run):
    path = run_path(tmp_path, "Digits-4/2", "clsnet", 3)
    assert path == tmp_path / "Digits-4" / "2" / "clsnet" / "3.json"
    write_run(path, run)
    assert read_run(path) == run
    assert [p.name for p in path.parent.iterdir()] == ["3.json"]


def test_runs_are_found_below_a_folder_and_half_written_ones_are_not(tmp_path, run):
    for method, order in (("b", 1), ("a", 1), ("a", 0)):
        write_run(
            run_path(tmp_path, "Digits-4/2", method, order), {**run, "method": method + str(order)}
        )
    (tmp_path / "Digits-4/2/a/.x.part").write_text('{"R": [[1.0')
    assert [found["method"] for found in read_runs(tmp_path)] == ["a0", "a1", "b1"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "17", '{"hello": 1}', json.dumps({"R": [[1.0]]}), "\x00\x01"]
)
def test_a_file_that_is_no_run_is_named(tmp_path, text):
    path = tmp_path / "0.json"
    path.write_text(text)
    with pytest.raises(ClsnetError, match=r"is not a finished run; move it away") as caught:
        read_run(path)
    assert str(path) in str(caught.value)
    assert path.read_text() == text


def test_a_file_in_the_way_of_the_folder_is_named(tmp_path, run):
    (tmp_path / "file").touch()
    with pytest.raises(ClsnetError, match=r"cannot write results to .*file"):
        write_run(tmp_path / "file" / "a" / "0.json", run)
