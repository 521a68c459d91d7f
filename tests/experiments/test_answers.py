"""Each experiment, given made-up runs in which its claim holds and in which it does not."""

import pytest

from clsnet.evaluation.protocol import AGNOSTIC, DEMO
from clsnet.experiments import (
    cifar,
    connections,
    contradictions,
    cost,
    curvature,
    fashion_mnist,
    forgetting,
    forgetting_second,
    imagenet,
    terms,
    trade_off,
)
from clsnet.experiments import orders as task_orders
from clsnet.experiments.answer import FAILS, HOLDS, LEAKING, OURS, PUBLISHED, UNMEASURED, Table
from clsnet.experiments.found import Found
from clsnet.experiments.needs import Needed
from clsnet.experiments.registry import experiments
from clsnet.experiments.second import on_network, paper_rule
from tests.experiments.runs import found, orders, run

FASHION = ("FashionMNIST-10/5",)


def table_of(answer, place: int = 0) -> Table:
    tables = [part for part in answer.parts if isinstance(part, Table)]
    return tables[place]


def labels(table: Table, kind: str) -> list[str]:
    return [row.label for row in table.rows if row.kind == kind]


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("experiment", experiments(), ids=lambda one: one.name)
def test_without_any_run_nothing_is_claimed(experiment, quick: bool) -> None:
    study = experiment.load()
    answer = study.answer(Found(quick, []))
    if experiment.name == "contradictions":  # arithmetic on what is printed
        assert answer.verdict == FAILS
        return
    assert answer.verdict == UNMEASURED
    assert not answer.summaries
    assert Found(quick, []).missing(study.needs(quick))


# ------------------------------------------------------------------------------- terms


def runs_of_terms(one: float, second: float, third: float, every: float) -> Found:
    accuracies = dict(zip(terms.TERMS, (one, second, third, every), strict=True))
    made = []
    for kept in terms.needs(quick=False).runs:
        accuracy = accuracies[kept.options.get("terms", terms.ALL)]
        made += orders(kept, *[accuracy + 0.001 * i for i in range(5)])
    return found(*made)


def test_terms_hold_where_the_second_saves_and_the_third_adds() -> None:
    answer = terms.answer(runs_of_terms(0.2, 0.8, 0.25, 0.9))
    assert answer.verdict == HOLDS
    table = table_of(answer)
    assert labels(table, OURS) == ["term 1", "terms 1 + 2", "terms 1 + 3", "terms 1 + 2 + 3"]
    assert len(labels(table, LEAKING)) == len(labels(table, PUBLISHED)) == 4
    assert table.rows[1].cells[0].value == pytest.approx(0.802)


@pytest.mark.parametrize(
    "accuracies", [(0.2, 0.8, 0.25, 0.8), (0.8, 0.2, 0.2, 0.9), (0.2, 0.5, 0.7, 0.9)]
)
def test_terms_fail_where_one_part_does(accuracies) -> None:
    assert terms.answer(runs_of_terms(*accuracies)).verdict == FAILS


def test_a_part_of_the_terms_is_not_enough() -> None:
    first = terms.needs(quick=False).runs[0]
    answer = terms.answer(found(*orders(first, 0.2)))
    assert answer.verdict == UNMEASURED
    assert labels(table_of(answer), OURS) == ["term 1"]


# ------------------------------------------------------------------------------- gamma


def runs_of_gamma(best: float) -> Found:
    made = []
    for needed in trade_off.needs(quick=True).runs:
        gamma = needed.options.get("gamma", trade_off.RELEASED)
        old, new = min(0.9, gamma / 1e5), max(0.1, 1 - gamma / 2e6)
        if gamma == best:
            old = new = 0.95
        R = [[new]] + [[old] * t + [new] for t in range(1, 5)]
        made.append(run(needed, 0.5, R=R))
    return found(*made, quick=True)


def test_gamma_holds_where_ten_to_the_four_is_best() -> None:
    answer = trade_off.answer(runs_of_gamma(best=1e4))
    assert answer.verdict == HOLDS
    assert labels(table_of(answer), OURS)[0] == "γ = 1"
    assert table_of(answer).heads == [
        "task 1",
        "task 2",
        "task 3",
        "task 4",
        "task 5",
        "BWT",
        "FWT",
    ]


def test_gamma_fails_where_another_of_the_printed_values_is_best() -> None:
    assert trade_off.answer(runs_of_gamma(best=1e2)).verdict == FAILS
    answer = trade_off.answer(runs_of_gamma(best=1e3))
    assert "of all that were tried 1000 (0.95" in answer.checks[-1].sentence


# -------------------------------------------------------------------- graceful forgetting


def forgets(variant: str, mean: float, protocol: str = AGNOSTIC) -> dict:
    """A run whose forgotten tasks are at zero, and whose others are recognised alike."""
    gone = forgetting.VARIANTS[variant]
    R = [[0.0 if t in gone and t < T else mean for t in range(T + 1)] for T in range(5)]
    return run(forgetting._runs(variant, False, protocol), 0.5, R=R)


def test_forgetting_is_judged_by_the_tasks_that_remain() -> None:
    made = [forgets(v, 0.6 + 0.1 * i) for i, v in enumerate(forgetting.VARIANTS)]
    answer = forgetting.answer(found(*made))
    assert answer.verdict == HOLDS
    table = table_of(answer)
    faded = next(row for row in table.rows if row.label == "STM: task 1")
    assert [cell.value for cell in faded.cells[:2]] == [None, pytest.approx(0.7)]
    assert faded.cells[-1].value == pytest.approx(0.7)
    assert "control" not in answer.why


def test_forgetting_fails_where_one_kind_is_no_gain() -> None:
    made = [forgets(v, 0.6 - 0.1 * i) for i, v in enumerate(forgetting.VARIANTS)]
    assert forgetting.answer(found(*made)).verdict == FAILS


def test_the_control_says_what_forgetting_itself_gained() -> None:
    made = [forgets(v, 0.7) for v in forgetting.VARIANTS]
    control = forgetting._control(False)

    def answered(share: float) -> str:
        R = [[share] * (T + 1) for T in range(5)]
        values = dict.fromkeys(forgetting.VARIANTS, R)
        kept = {(control.name, control.sequence): {"values": values}}
        return forgetting.answer(found(*made, measured=kept)).why

    assert "Forgetting is better than the control in 3 of 3 cases" in answered(0.6)
    assert "in 0 of 3 cases, so most of the gain comes from fewer possible answers" in answered(0.8)


def test_the_second_data_set_is_digits_only_where_there_is_no_network() -> None:
    small = [run(forgetting_second._small(v, False), 0.5) for v in forgetting.VARIANTS]
    answer = forgetting_second.answer(found(*small))
    assert "so these are of Digits-10/5" in answer.why
    large = [run(forgetting_second._networked(v), 0.5) for v in forgetting.VARIANTS]
    answer = forgetting_second.answer(found(*small, *large))
    assert "Digits" not in answer.why
    assert {s.sequence for s in answer.summaries} == {"TinyImageNet-100/5"}


# --------------------------------------------------------------------- tables of methods


def test_the_table_leaves_out_ablations_of_our_own_and_keeps_what_leaks() -> None:
    made = [
        run(Needed(FASHION, "clsnet", preset="fast"), 0.9),
        run(Needed(FASHION, "clsnet-demo"), 0.6),
        run(Needed(FASHION, "clsnet-demo", protocol=DEMO), 0.93),
        run(Needed(FASHION, "clsnet-demo", {"gamma": 1.0}), 0.2),
        run(Needed(FASHION, "rm"), 0.84),
    ]
    answer = fashion_mnist.answer(found(*made))
    titles = {summary.title for summary in answer.summaries}
    assert titles == {"clsnet, fast", "clsnet-demo", "clsnet-demo, LEAKING protocol", "rm"}
    assert answer.verdict == FAILS
    assert "1 of 1 compared methods are not behind it (rm)" in answer.checks[1].sentence
    assert "The released evaluation gives 0.9300" in answer.why


def test_the_table_holds_where_the_paper_s_rule_reaches_it_and_leads() -> None:
    made = [run(Needed(FASHION, "clsnet-demo"), 0.92), run(Needed(FASHION, "rm"), 0.84)]
    assert fashion_mnist.answer(found(*made)).verdict == HOLDS


def test_costs_compare_times_of_one_machine_only() -> None:
    gpu = {"gpu": "NVIDIA H200", "threads": "16"}
    rule = run(Needed(FASHION, "clsnet-demo"), 0.6, seconds={"learn": 5.0})
    quick = run(Needed(FASHION, "ewc"), 0.2, seconds={"learn": 1.0}, environment=gpu)
    assert cost.answer(found(rule, quick)).verdict == UNMEASURED
    slow = run(Needed(FASHION, "gem"), 0.8, seconds={"learn": 9.0})
    assert cost.answer(found(rule, quick, slow)).verdict == HOLDS
    fast = run(Needed(FASHION, "mas"), 0.2, seconds={"learn": 1.0})
    assert cost.answer(found(rule, slow, fast)).verdict == FAILS


def test_memory_counts_exemplars() -> None:
    rule = run(Needed(FASHION, "clsnet-demo"), 0.6)
    rehearsal = {
        "memory": {"model_mb": 2.0, "exemplar_mb": 6.0},
        "environment": {"gpu": "x", "threads": "1"},
    }
    more = run(Needed(FASHION, "rm"), 0.8, **rehearsal)
    answer = cost.answer(found(rule, more))
    assert answer.verdict == HOLDS
    assert (
        "takes 3.00 MB; 0 of 1 methods that keep exemplars take less" in answer.checks[0].sentence
    )


# ------------------------------------------------------------------------- other tables


def test_orders_compare_deviations() -> None:
    steady = orders(Needed(FASHION, "clsnet-demo"), 0.6, 0.61, 0.6)
    shaky = [
        *orders(Needed(FASHION, "ewc", tune=True), 0.2, 0.3, 0.4),
        *orders(Needed(FASHION, "owm"), 0.7, 0.8, 0.75),
    ]
    assert task_orders.answer(found(*steady, *shaky)).verdict == HOLDS
    calm = orders(Needed(FASHION, "si", tune=True), 0.2, 0.2, 0.2)
    answer = task_orders.answer(found(*steady, *shaky, *calm))
    assert answer.verdict == FAILS
    assert table_of(answer).heads == ("mean", "deviation", "orders")


def test_one_order_says_nothing_of_deviations() -> None:
    made = [run(Needed(FASHION, name), 0.5) for name in ("clsnet-demo", "owm")]
    assert task_orders.answer(found(*made)).verdict == UNMEASURED


@pytest.mark.parametrize(("best", "verdict"), [("A", HOLDS), ("Z", FAILS)])
def test_connections_are_compared_on_all_tasks(best: str, verdict: str) -> None:
    accuracies = {"Z": 0.5, "G": 0.6, "G*": 0.7, "A": 0.8, best: 0.8}
    made = []
    for connection, accuracy in accuracies.items():
        made += orders(connections._first(connection, False), *[accuracy] * 2)
    answer = connections.answer(found(*made))
    assert answer.verdict == verdict
    assert [row.label for row in table_of(answer).rows] == ["Z", "G", "G*", "A"]


def test_connections_on_a_network_are_those_of_the_same_network() -> None:
    made = [run(connections._second(c, 10), 0.5, backbone="b.safetensors") for c in "ZGA"]
    other = [
        run(connections._second("Z", 10), 0.9, order, backbone="other.safetensors")
        for order in (0, 1)
    ]
    answer = connections.answer(found(*made, *other))
    assert len(answer.summaries) == 3
    assert {s.options[-1] for s in answer.summaries} == {"backbone=b.safetensors"}


@pytest.mark.parametrize(("low", "verdict"), [(0.95, HOLDS), (0.45, FAILS)])
def test_curvatures_are_compared_size_by_size(low: float, verdict: str) -> None:
    accuracies = {"full": 0.9, "low-rank": low, "diagonal": 0.5}
    made = []
    for (kind, size), needed in curvature._wanted(False).items():
        memory = {"model_mb": 0.1 * 4**size, "exemplar_mb": 0.0}
        made += orders(needed, *[accuracies[kind]] * 2, memory=memory)
    answer = curvature.answer(found(*made))
    assert answer.verdict == verdict
    assert len(answer.checks) == 3
    assert "With 0.10 MB: full 0.9000" in answer.checks[0].sentence


def test_curves_are_of_the_network_with_the_most_methods() -> None:
    names = ("clsnet", "slda", "ncm")
    many = [
        run(
            on_network(Needed((), name, preset="fast"), 10),
            0.6 + 0.01 * i,
            backbone="a.safetensors",
        )
        for i, name in enumerate(names)
    ]
    rule = run(on_network(paper_rule(), 10), 0.4, backbone="a.safetensors")
    few = run(on_network(Needed((), "clsnet", preset="fast"), 10), 0.9, backbone="b.safetensors")
    bound = run(
        Needed(("TinyImageNet-100/1",), "joint-finetuned", {"backbone": "a.safetensors"}), 0.7
    )
    answer = cifar.answer(found(*many, rule, few, bound))
    (curves,) = answer.parts
    assert {s.method for s in curves.summaries} == {*names, "clsnet-paper"}
    assert curves.published[0].ys[-1] == 0.7812
    assert answer.verdict == FAILS
    assert "30.00 points more than the paper's rule" in answer.checks[1].sentence
    assert "CIFAR-100 is not here" in answer.why


def test_imagenet_needs_a_method_of_the_paper_s_table() -> None:
    def placed(needed: Needed, accuracy: float, tasks: int) -> dict:
        return run(imagenet._placed(needed, tasks), accuracy)

    made = [placed(paper_rule(), 0.5, 5), placed(Needed((), "clsnet", preset="fast"), 0.7, 10)]
    answer = imagenet.answer(found(*made))
    assert answer.verdict == UNMEASURED
    assert table_of(answer).heads == ["TinyImageNet-100/5", "TinyImageNet-100/10"]
    worse = placed(Needed((), "il2m"), 0.4, 5)
    assert imagenet.answer(found(*made, worse)).verdict == HOLDS
    better = [placed(Needed((), name), 0.6, 5) for name in ("il2m", "rm")]
    assert imagenet.answer(found(*made, *better)).verdict == FAILS


def test_imagenet_shows_only_networks_trained_without_labels_where_there_are_any() -> None:
    both = [run(imagenet._placed(Needed((), name), 5), 0.3) for name in ("il2m", "rm")]
    labelled = [
        run(imagenet._placed(one, tasks), 0.6, backbone="base.safetensors")
        for one in (paper_rule(), *(Needed((), name) for name in ("il2m", "rm", "owm", "gem")))
        for tasks in (5, 10)
    ]
    shown = table_of(imagenet.answer(found(*both, *labelled)))
    assert shown.heads == ["TinyImageNet-100/5"]
    assert sorted(row.label for row in shown.rows) == ["il2m", "rm"]
    without = table_of(imagenet.answer(found(*labelled)))
    assert without.heads == ["TinyImageNet-100/5", "TinyImageNet-100/10"]
    assert "gem" not in {row.label for row in without.rows}  # not in the paper's table


def test_contradictions_by_hand() -> None:
    answer = contradictions.answer(Found(False, []))
    bounds, alone, means = answer.parts
    broken = [row.label for row in bounds.rows if row.cells[-1].text == "exceeded"]
    assert broken == ["EWC", "DMC", "BiR", "RM", "MEMO", "FOSTER"]
    assert [round(row.cells[-1].value, 4) for row in alone.rows] == [0.9061, 0.8205, 0.8255, 0.8409]
    assert [(row.cells[0].value, round(row.cells[1].value, 2)) for row in means.rows] == [
        (91.05, 92.98),  # (98.25 + 78.00 + 96.30 + 96.35 + 96.00) / 5
        (96.25, 96.15),  # (92.35 + 97.55 + 98.55) / 3
    ]


def test_quick_leaves_out_methods_that_take_minutes() -> None:
    quick, whole = ({one.method for one in fashion_mnist.needs(q).runs} for q in (True, False))
    assert whole - quick == set(fashion_mnist.SLOW)
