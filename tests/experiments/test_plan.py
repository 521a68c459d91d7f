from pathlib import Path

import pytest

from clsnet.data import load_sequence
from clsnet.errors import ClsnetError
from clsnet.experiments.needs import Measurement, Needed, Needs
from clsnet.experiments.plan import first_there, grouped, plan_jobs
from clsnet.storage.schema import ANYTHING

DIGITS = ("Digits-10/5",)
MEASURED = Measurement("points", "Digits-10/5", lambda sequence: {}, ANYTHING)


def silent(stage: str, done: int, total: int) -> None:
    pass


def test_what_two_experiments_need_is_done_once() -> None:
    one = Needs([Needed(DIGITS, "ncm", preset="fast", orders=1)], [MEASURED])
    other = Needs([Needed(DIGITS, "ncm", preset="fast", orders=3), Needed(("Digits-4/2",), "none")])
    groups = list(grouped([one, other, one]))
    assert [group.sequences for group in groups] == [DIGITS, ("Digits-4/2",)]
    assert list(groups[0].measurements) == ["points"]
    plan = plan_jobs(groups[0], load_sequence("Digits-10/5"), Path("out"), None)
    (jobs,) = plan.jobs.values()
    assert len({job.path(plan.sequence) for job in jobs}) == 3


def test_the_first_sequence_that_is_there_stands_in(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("CLSNET_DATA", str(tmp_path))
    found = first_there(("CIFAR-100/10", "Digits-10/5"), None, silent)
    assert found.name == "Digits-10/5"


def test_where_none_is_there_each_says_what_to_put_where(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("CLSNET_DATA", str(tmp_path))
    with pytest.raises(ClsnetError) as error:
        first_there(("CIFAR-100/10", "TinyImageNet-100/10"), None, silent)
    said = str(error.value)
    assert "cifar-100-python.tar.gz" in said
    assert f"put tiny-imagenet-200.zip into {tmp_path / 'tiny-imagenet-200'}" in said


def test_a_method_that_cannot_be_run_does_not_stop_the_others(tmp_path: Path) -> None:
    bad = Needed(DIGITS, "ncm", {"colour": "red"}, preset="fast")
    good = Needed(DIGITS, "ncm", preset="fast", orders=1)
    (group,) = grouped([Needs([bad, good])])
    plan = plan_jobs(group, load_sequence("Digits-10/5"), tmp_path, None)
    said = "the method 'ncm' has no option 'colour'. See: clsnet methods ncm"
    assert plan.problems == {bad.key: said}
    assert list(plan.jobs) == [good.key]


def test_a_stored_run_of_another_version_is_a_reason_and_no_end(tmp_path: Path, golden) -> None:
    needed = Needed(DIGITS, "clsnet", preset="fast", orders=1)
    file = tmp_path / "fast/Digits-10/5/clsnet/0.json"
    file.parent.mkdir(parents=True)
    file.write_text(golden.file.read_text().replace('"version": "0.2.0"', '"version": "0.0.1"'))
    (group,) = grouped([Needs([needed])])
    plan = plan_jobs(group, load_sequence("Digits-10/5"), tmp_path, None)
    assert "holds a run with another version (0.0.1)" in plan.problems[needed.key]
    assert plan.jobs == {}
