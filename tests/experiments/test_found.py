import pytest

from clsnet.experiments.found import Found, ahead, curve, is_plain, on_same_orders
from clsnet.experiments.needs import Measurement, Needed, Needs
from clsnet.storage.schema import ANYTHING
from tests.experiments.runs import found, orders, run

NEEDED = Needed(("Digits-10/5",), "clsnet-demo", orders=3)
OTHER = Needed(("Digits-10/5",), "clsnet-demo", {"gamma": 10.0}, orders=3)
MEASURED = Measurement("points", "Digits-10/5", lambda sequence: {}, ANYTHING)


def only(some: Found) -> list[float]:
    (summary,) = some.summaries
    return [one["avg_acc"] for one in summary.runs]


def test_the_same_run_in_two_files_counts_once_and_the_newer_version_counts() -> None:
    old, new = run(NEEDED, 0.4, version="0.1.0"), run(NEEDED, 0.6, version="0.2.0")
    for runs in ((old, new), (new, old)):
        assert only(found(*runs)) == [pytest.approx(0.6)]
    assert len(only(found(old, run(NEEDED, 0.6, order=1)))) == 2


def test_what_is_missing_is_said_with_its_reason() -> None:
    needs = Needs([NEEDED, OTHER], [MEASURED])
    problems = {OTHER.key: "no such thing", MEASURED.key: "no data"}
    lines = found(*orders(NEEDED, 0.5, 0.5), problems=problems).missing(needs)
    assert lines == [
        "1 of 3 runs of clsnet-demo on Digits-10/5",
        "clsnet-demo, gamma=10.0 on Digits-10/5: no such thing",
        "points on Digits-10/5: no data",
    ]


def test_nothing_is_missing_where_all_is_there_or_orders_do_not_matter() -> None:
    kept = {("points", "Digits-10/5"): {"values": {"x": 1}}}
    whole = found(*orders(NEEDED, 0.5, 0.5, 0.5), measured=kept)
    assert whole.missing(Needs([NEEDED], [MEASURED])) == []
    assert whole.values(MEASURED) == {"x": 1}
    assert found(run(NEEDED, 0.5, order_free=True)).missing(Needs([NEEDED])) == []


def test_runs_on_a_network_of_the_other_kind_are_missing() -> None:
    kinds = ("resnet18", "resnet50-simsiam")
    for kind, other in (kinds, kinds[::-1]):
        needed = Needed(("TinyImageNet-100/5",), "rm", network=kind, orders=1)
        assert found(run(needed, 0.5)).missing(Needs([needed])) == []
        elsewhere = run(needed, 0.5, backbone=f"seed1/{other}.safetensors")
        assert found(elsewhere).get(needed) is None
    everywhere = run(needed, 0.5, backbone="efficientnet-lite0")  # no class is left to pretrain on
    assert found(everywhere).get(needed)


def test_many_missing_runs_are_counted_not_listed() -> None:
    needs = Needs([Needed(("Digits-10/5",), "ncm", {"ridge": float(i)}) for i in range(20)])
    (line,) = found().missing(needs)
    assert line.count("ncm") == 12
    assert line.endswith("; and 8 more on Digits-10/5")


def test_variants_are_compared_on_the_orders_that_all_have() -> None:
    some = found(*orders(NEEDED, 0.9, 0.1, 0.2), *orders(OTHER, 0.8))
    same = on_same_orders({"one": some.get(NEEDED), "other": some.get(OTHER), "none": None})
    assert {name: summary.mean("avg_acc") for name, summary in same.items()} == {
        "one": pytest.approx(0.9),
        "other": pytest.approx(0.8),
    }
    apart = found(*orders(NEEDED, 0.9), run(OTHER, 0.8, order=7))
    kept = on_same_orders({"one": apart.get(NEEDED), "other": apart.get(OTHER)})
    assert [len(summary.runs) for summary in kept.values()] == [1, 1]
    assert on_same_orders({"none": None}) == {}


def test_ahead_is_what_the_interval_says_and_else_what_every_order_says() -> None:
    def pair(first: list[float], second: list[float]) -> bool:
        some = found(*orders(NEEDED, *first), *orders(OTHER, *second))
        return ahead(some.get(NEEDED), some.get(OTHER))

    assert pair([0.9] * 3, [0.5] * 3)
    assert not pair([0.5] * 3, [0.9] * 3)
    assert not pair([0.9, 0.4], [0.5, 0.5])  # ahead on average, in one order of two
    assert pair([0.9, 0.6], [0.5, 0.5])  # too few for the interval, ahead in both
    assert pair([0.501], [0.5])  # one order of a method that depends on it has no interval
    assert not pair([0.5], [0.5])


def test_the_curve_is_the_mean_over_tasks_so_far() -> None:
    R = [[1.0], [0.5, 0.75], [0.0, 0.5, 1.0], [0.1] * 4, [0.2] * 5]
    (summary,) = found(run(NEEDED, 0.2, R=R)).summaries
    assert curve(summary) == pytest.approx([1.0, 0.625, 0.5, 0.1, 0.2])


def test_an_ablation_of_our_own_methods_is_not_plain() -> None:
    def plain(method: str, options: dict) -> bool:
        (summary,) = found(run(Needed(("Digits-10/5",), method, options), 0.5)).summaries
        return is_plain(summary)

    assert plain("clsnet", {"backbone": "w.safetensors"})
    assert not plain("clsnet", {"backbone": "w.safetensors", "views": 8})
    assert plain("clsnet-paper", {"gamma": 1.0, "ridge": 0.1})
    assert not plain("clsnet-demo", {"gamma": 1.0})
    assert plain("ranpac", {"nodes": 100})
