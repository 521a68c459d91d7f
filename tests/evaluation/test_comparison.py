import copy

import numpy as np
import pytest

from clsnet.data import load_sequence
from clsnet.evaluation.answers import Answers
from clsnet.evaluation.comparison import compare
from clsnet.evaluation.harness import Job

ORDERS = [[[0], [1]], [[1], [0]], [[1, 0], []], [[], [0, 1]], [[0, 1], []]]


def made(right, order=0, seed=0, tested=None, labels="4d1a", **more):
    """A run that was right about these samples."""
    right = np.asarray(right, dtype=bool)
    tested = np.ones(len(right), dtype=bool) if tested is None else tested
    packed = Answers(tested, right & tested, labels).packed()
    order_free = {"order_free": True} if order is None else {}
    run = {"seed": seed, "order": ORDERS[order or 0], "answers": packed, **order_free}
    return {**run, **more}


# --------------------------------------------------------------------------- real runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three seeds, each with its own six classes of Digits; some samples are tested by several."""
    data = load_sequence("Digits-6/3")
    out = tmp_path_factory.mktemp("runs")
    found = {}
    nodes = {"backbone": "identity", "connection": "G*", "groups": 2, "group_size": 5}
    for method, orders, options in (("slda", 1, {}), ("ncm", 1, {}), ("clsnet", 4, nodes)):
        jobs = [
            Job(method, i, s, "fast", "agnostic", False, out / f"{s}", tuple(options.items()))
            for s in range(3)
            for i in range(orders)
        ]
        found[method] = [job.run(data, lambda *line: None) for job in jobs]
        if orders == 1:  # of this data set the patches are the same, whatever the first task
            found[method] = [{**run, "order_free": True} for run in found[method]]
    return found


def bootstrapped(runs, others, n=2000):
    """The deviation of the difference, over test samples and orders that are drawn anew."""
    random = np.random.default_rng(0)
    answers = {}
    for seed in range(3):
        parts = ([run["answers"] for run in part if run["seed"] == seed] for part in (runs, others))
        answers[seed] = [[Answers.unpacked(packed) for packed in part] for part in parts]
    right = {s: [np.array([a.right for a in part]) for part in answers[s]] for s in answers}
    tested = {seed: mine[0].tested for seed, (mine, _) in answers.items()}
    samples = np.flatnonzero(np.any(list(tested.values()), axis=0))
    drawn = []
    for _ in range(n):
        rows = random.choice(samples, len(samples))
        differences = []
        for seed, sides in right.items():
            here = rows[tested[seed][rows]]
            chosen = [random.integers(len(side), size=len(side)) for side in sides]
            mine, theirs = (
                side[np.ix_(orders, here)].mean()
                for side, orders in zip(sides, chosen, strict=True)
            )
            differences.append(mine - theirs)
        drawn.append(np.mean(differences))
    return np.std(drawn)


def test_the_interval_is_that_of_a_bootstrap(runs):
    found = compare(runs["slda"], runs["ncm"])
    accuracies = [np.mean([np.mean(r["R"][-1]) for r in runs[name]]) for name in ("slda", "ncm")]
    assert found.difference == pytest.approx(accuracies[0] - accuracies[1], abs=0.005)
    assert found.margin == pytest.approx(1.96 * bootstrapped(runs["slda"], runs["ncm"]), rel=0.1)
    assert list(found.by_seed) == [0, 1, 2]
    assert np.mean(list(found.by_seed.values())) == pytest.approx(found.difference)


def test_the_interval_of_a_method_that_depends_on_orders_is_that_of_a_bootstrap_over_them(runs):
    """A bootstrap over four orders finds three quarters of their variance."""
    found = compare(runs["clsnet"], runs["ncm"])
    assert 1 < found.margin / (1.96 * bootstrapped(runs["clsnet"], runs["ncm"])) < 1.35
    one_order = [{**run, "order_free": True} for run in runs["clsnet"][::4]]
    assert found.margin > 1.1 * compare(one_order, runs["ncm"]).margin


def test_the_second_method_sees_it_the_other_way_round(runs):
    one, other = compare(runs["slda"], runs["clsnet"]), compare(runs["clsnet"], runs["slda"])
    assert one.difference == -other.difference
    assert one.margin == pytest.approx(other.margin)


def test_a_method_is_neither_ahead_of_nor_behind_itself(runs):
    for part in runs.values():
        found = compare(part, copy.deepcopy(part))
        assert (found.difference, found.margin, found.verdict) == (0.0, 0.0, "")


# ------------------------------------------------------------------------ the formula


def test_one_seed_is_the_textbooks_paired_interval():
    random = np.random.default_rng(0)
    a, b = random.random((2, 400)) < [[0.7], [0.6]]
    found = compare([made(a, None)], [made(b, None)])
    d = a.astype(float) - b
    assert found.difference == pytest.approx(d.mean())
    assert found.margin == pytest.approx(1.966 * d.std(ddof=1) / 20, rel=1e-3)


def test_seeds_with_their_own_samples_are_strata():
    random = np.random.default_rng(1)
    seed = np.repeat([0, 1], [100, 300])
    right = random.random((2, 400)) < [[0.8], [0.5]]
    sides = [[made(row, None, s, seed == s) for s in (0, 1)] for row in right]
    found = compare(*sides)
    d = right[0].astype(float) - right[1]
    parts = [d[:100], d[100:]]
    assert found.difference == pytest.approx(np.mean([part.mean() for part in parts]))
    variance = sum(part.var() / len(part) for part in parts) / 4
    assert found.margin == pytest.approx(1.966 * variance**0.5, rel=3e-3)


def test_seeds_that_share_their_samples_are_no_independent_evidence():
    random = np.random.default_rng(2)
    a, b = random.random((2, 500)) < [[0.7], [0.6]]
    one = compare([made(a, None)], [made(b, None)])
    same = compare([made(a, None, s) for s in range(3)], [made(b, None, s) for s in range(3)])
    assert same.margin == pytest.approx(one.margin)
    apart = compare(
        [made(a, None, s, labels=str(s)) for s in range(3)],
        [made(b, None, s, labels=str(s)) for s in range(3)],
    )
    assert apart.margin == pytest.approx(one.margin / 3**0.5, rel=0.01)


@pytest.mark.parametrize("same_orders", [True, False])
@pytest.mark.parametrize("n_orders", [(5,), (5, 5, 5), (2, 2, 2), (5, 1, 1), (2, 1)], ids=str)
def test_the_interval_covers_the_truth_nineteen_times_in_twenty(n_orders, same_orders):
    """Two methods whose accuracy depends on sample and order; the truth is a difference of 5 %."""
    random = np.random.default_rng(3)
    covered = []
    for _ in range(300):
        sides = [[], []]
        for seed, n in enumerate(n_orders):
            hardness = random.normal(0, 0.2, 200)
            shared = random.normal(0, 0.05, n)
            for side, level in zip(sides, (0.55, 0.50), strict=True):
                for order in range(n):
                    shift = random.normal(0, 0.05) + (shared[order] if same_orders else 0)
                    right = random.random(200) < level + shift + hardness
                    place = order if same_orders or level > 0.5 else (order + 1) % len(ORDERS)
                    side.append(made(right, place, seed, labels=str(seed)))
        found = compare(*sides)
        covered.append(abs(found.difference - 0.05) <= found.margin)
    assert 0.92 <= np.mean(covered) <= 0.995


# ------------------------------------------------------------------ what is not compared


def test_one_order_of_a_method_that_depends_on_it_has_no_interval_unless_another_seed_has_two():
    a, b = np.arange(300) % 4 > 0, np.arange(300) % 4 > 1
    found = compare([made(a, 0)], [made(b, None)])
    assert found.difference == pytest.approx(0.25)
    assert (found.margin, found.verdict) == (None, "")
    second = np.roll(a, 1)  # as many right answers: this order makes no difference
    found = compare(
        [made(a, 0), made(second, 1), made(a, 0, seed=1)], [made(b, None), made(b, None, seed=1)]
    )
    assert found.verdict == "ahead"
    one, other = ({**made(part), "order": [[0, 1]]} for part in (a, b))  # a single task
    assert compare([one], [other]).verdict == "ahead"


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"labels": "other"},
        {"tested": np.arange(40) > 3},
        {"folder": "other"},
        {"network": "other"},
    ],
    ids=str,
)
def test_only_like_is_compared(change):
    right = np.arange(40) % 3 > 0
    one = made(right, None, folder="this", network="this")
    other = made(right, None, **{"folder": "this", "network": "this", **change})
    assert compare([one], [one]).difference == 0
    assert compare([one], [other]) is None


def test_a_method_without_a_network_is_compared_with_one_that_has_one():
    right = np.arange(40) % 3 > 0
    assert compare([made(right, None, network="this")], [made(right, None)]).difference == 0


def test_runs_without_answers_are_not_compared():
    run = made(np.ones(40), None)
    old = {key: value for key, value in run.items() if key != "answers"}
    assert compare([old], [run]) is None
    assert compare([run], [old]) is None
    assert compare([], [run]) is None


def test_seeds_that_both_have_are_compared():
    a, b = np.ones(40), np.arange(40) > 3
    found = compare([made(a, None, s) for s in (0, 1)], [made(b, None, s) for s in (1, 2)])
    assert found.by_seed == {1: 0.1}


def test_few_samples_say_little():
    assert compare([made([1], None)], [made([0], None)]).verdict == ""
    assert compare([made([1, 1, 1], None)], [made([0, 0, 1], None)]).verdict == ""
