import shlex
from pathlib import Path

from clsnet.evaluation.summaries import summarise
from clsnet.reporting.commands import commands
from clsnet.reporting.folder import read_folder
from tests.reporting.runs import HOSTILE, write


def _commands(folder: Path) -> list[str]:
    return [one for summary in summarise(read_folder(folder).runs) for one in commands(summary)]


def test_a_command_names_everything_that_set_the_run_apart(folder: Path) -> None:
    written = _commands(folder)
    name, ours = "FashionMNIST-10/5", folder / "ours"
    assert (
        f"clsnet bench {name} --method clsnet --preset fast --orders 3 --seed 0 --out {ours}"
        in (written)
    )
    assert (
        f"clsnet bench {name} --method clsnet-demo --orders 1 --seed 0 --protocol demo "
        f"--out {folder / 'leaking'}"
    ) in written
    assert (
        f"clsnet bench {name} --method clsnet-paper --orders 1 --seed 0 --tune "
        f"--out {folder / 'other'}"
    ) in written


def test_a_name_cannot_break_out_of_its_command(folder: Path) -> None:
    (hostile,) = [one for one in _commands(folder) if "alert" in one]
    assert shlex.split(hostile)[4] == HOSTILE.replace("\x07", "\N{REPLACEMENT CHARACTER}")


def test_each_seed_has_its_command(tmp_path: Path) -> None:
    write(tmp_path / "a", "clsnet", 0.9, seed=1)
    write(tmp_path / "b", "clsnet", 0.9, order=1, seed=2)
    first, second = _commands(tmp_path)
    assert f"--orders 1 --seed 1 --out {tmp_path / 'a'}" in first
    assert f"--orders 2 --seed 2 --out {tmp_path / 'b'}" in second


def test_a_run_that_was_moved_names_no_folder(tmp_path: Path) -> None:
    write(tmp_path, "clsnet", 0.9)
    (tmp_path / "FashionMNIST-10/5/clsnet/0.json").rename(tmp_path / "0.json")
    assert _commands(tmp_path) == [
        "clsnet bench FashionMNIST-10/5 --method clsnet --orders 1 --seed 0"
    ]


def test_tuned_runs_on_two_networks_are_two_and_each_names_its_own(tmp_path: Path) -> None:
    for network in "ab":
        config = {"preset": None, "tune": True, "backbone": network, "gamma": 1.0}
        write(tmp_path / network, "clsnet-paper", 0.6, config=config)
    first, second = _commands(tmp_path)
    assert "--backbone a --tune" in first
    assert "--backbone b --tune" in second


def test_what_tuning_chose_is_no_option_and_what_it_was_given_is(tmp_path: Path) -> None:
    config = {"preset": None, "tune": True, "views": 1, "gamma": 1.0}
    write(tmp_path, "clsnet-paper", 0.6, config=config, chosen=["gamma"])
    [command] = _commands(tmp_path)
    assert "--option views=1 --tune" in command
    assert "gamma" not in command
