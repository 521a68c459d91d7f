import pytest

from clsnet.errors import ClsnetError
from clsnet.experiments.needs import Needs
from clsnet.experiments.registry import chosen, experiments, find_experiment
from clsnet.methods import methods

ALL = experiments()
TABLES = ("II", "III", "IV", "V", "VI", "VII", "VIII", "IX")


def test_there_are_fourteen_numbered_in_the_order_of_the_page() -> None:
    assert [one.number for one in ALL] == list(range(1, 15))
    assert len({one.name for one in ALL}) == 14


def test_every_table_and_figure_with_results_of_the_paper_is_there() -> None:
    """Figures 1 and 2 are drawings of the method, Table I its notation."""
    places = " ".join(one.place for one in ALL)
    for place in ("Figure 3", "Figure 4", *(f"Table {n}" for n in TABLES)):
        assert place in places


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("experiment", ALL, ids=lambda one: one.name)
def test_what_an_experiment_needs_can_be_had(experiment, quick) -> None:
    needs = experiment.load().needs(quick)
    assert isinstance(needs, Needs)
    for needed in needs.runs:
        method = methods()[needed.method]
        assert needed.sequences
        assert (needed.preset is not None) == method.presets
        assert needed.network is None or method.backbones
        assert not quick or (needed.network is None and needed.orders <= 3 and not needed.tune)


@pytest.mark.parametrize("experiment", ALL, ids=lambda one: one.name)
def test_runs_of_two_configurations_have_two_folders(experiment) -> None:
    runs = experiment.load().needs(False).runs
    assert len({needed.key for needed in runs}) == len(runs)


def test_an_unknown_experiment_names_the_nearest() -> None:
    with pytest.raises(ClsnetError, match="unknown experiment 'termz'; did you mean 'terms'"):
        find_experiment("termz")
    with pytest.raises(ClsnetError, match="did you mean 'all'"):
        chosen(["al"])


def test_experiments_are_chosen_once_each_in_the_order_of_the_page() -> None:
    assert [one.name for one in chosen(["orders", "terms", "orders"])] == ["terms", "orders"]
    assert chosen(["terms", "all"]) == ALL
