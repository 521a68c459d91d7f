import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.test_metrics import outcomes
from tests.reporting.runs import write

from clsnet.errors import ClsnetError
from clsnet.evaluation.consistency import accuracy_by_transfer, contradiction, greatest_accuracy
from clsnet.evaluation.protocol import Outcome
from clsnet.evaluation.store import read_run, write_run
from clsnet.reporting.folder import read_folder


@given(outcomes())
def test_no_run_contradicts_itself(outcome):
    R, independent = outcome
    metrics = Outcome(R, independent, {}, {}).metrics()
    assert contradiction({"R": R, "independent": independent, **metrics}) is None
    alone = Outcome(R, [], {}, {}).metrics()
    assert contradiction({"R": R, "independent": [], **alone}) is None
    if len(R) > 1:
        bwt, fwt = metrics["bwt"], metrics["fwt"]
        by_transfer = accuracy_by_transfer(R[0][0], independent, bwt, fwt)
        assert by_transfer == pytest.approx(metrics["avg_acc"], abs=1e-9)
        assert metrics["avg_acc"] <= greatest_accuracy(len(R), bwt, fwt) + 1e-9


@given(
    outcomes(), st.sampled_from(["avg_acc", "bwt", "fwt", "R", "independent"]), st.floats(1e-6, 1)
)
def test_a_figure_that_is_changed_contradicts_the_others(outcome, name, change):
    R, independent = outcome
    run = {"R": R, "independent": independent, **Outcome(R, independent, {}, {}).metrics()}
    if len(R) == 1:
        return
    if name == "R":
        run["R"] = [[R[0][0] + change], *R[1:]]
    elif name == "independent":
        run["independent"] = [*independent[:-1], independent[-1] + change]
    else:
        run[name] += change
    assert contradiction(run)


@pytest.mark.parametrize("change", [{"fwt": None}, {"independent": []}, {"independent": [1.0]}])
def test_forward_transfer_needs_the_independent_models(tmp_path, change):
    run = write(tmp_path, "clsnet", 0.9)
    assert contradiction(run) is None
    assert "fwt" in contradiction({**run, **change})


def test_a_stored_run_that_contradicts_itself_is_refused_and_left_alone(tmp_path):
    good = write(tmp_path, "clsnet", 0.9)
    path = tmp_path / "FashionMNIST-10/5/clsnet/0.json"
    assert read_run(path)["avg_acc"] == good["avg_acc"]
    bad = json.dumps({**good, "fwt": good["fwt"] + 0.01})
    other = path.with_name("1.json")
    other.write_text(bad)
    with pytest.raises(ClsnetError, match=r"1\.json contradicts itself; move it away") as caught:
        read_run(other)
    assert "\n" not in str(caught.value)
    found = read_folder(tmp_path)
    assert len(found.runs) == 1
    assert "contradicts itself" in found.broken[0]
    assert other.read_text() == bad


def test_a_run_that_contradicts_itself_is_not_written(tmp_path):
    run = write(tmp_path, "clsnet", 0.9)
    with pytest.raises(ClsnetError, match="not written"):
        write_run(tmp_path / "7.json", {**run, "avg_acc": 0.99})
    assert not (tmp_path / "7.json").exists()
