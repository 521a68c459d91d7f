"""Forgetting policies: their weights, their names, and what decay by age comes to."""

import importlib.metadata
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.datasets import load_digits

from clsnet import CLSNet, load
from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.forgetting import (
    Combined,
    Decay,
    ForgettingPolicy,
    LongTerm,
    Queue,
    ShortTerm,
    policy_class,
    resolve_policy,
)
from clsnet.classifier.ridge.error_curve import GRID
from clsnet.classifier.ridge.reference import ridge_regression
from clsnet.classifier.rule import Rule
from clsnet.errors import ClsnetError
from clsnet.extractor import Identity
from tests.literal import one_hot, temperature

X, Y = load_digits(return_X_y=True)
X, Y = X[:800] / 16, Y[:800]
TASKS = [(0, 1), (2, 3, 4), (1, 5), (6, 7)]
ROWS = [np.flatnonzero(np.isin(Y, classes)) for classes in TASKS]
A = np.c_[X, np.ones(len(X))]

POLICIES = [
    LongTerm(),
    ShortTerm((1, 2)),
    Queue(2),
    Decay(0.5),
    Combined((Queue(3), Decay(2.0), ShortTerm((0,)))),
]


# -------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_the_current_task_counts_fully_and_no_task_ever_counts_more_again(policy):
    for n_tasks in range(1, 9):
        assert policy.weight(n_tasks - 1, n_tasks) == 1
        for task in range(n_tasks):
            assert 0 <= policy.weight(task, n_tasks + 1) <= policy.weight(task, n_tasks) <= 1


@pytest.mark.parametrize("half_life", [0.5, 1, 3.0, np.float32(2)])
def test_decay_halves_the_weight_within_every_half_life(half_life):
    policy = Decay(half_life)
    assert policy.weight(0, 1) == 1
    age = round(2 * float(half_life))
    assert policy.weight(0, 1 + age) == pytest.approx(0.5 ** (age / float(half_life)))


def test_combined_policies_multiply_their_weights():
    both = resolve_policy(Decay(1), short_term=[1], queue=3)
    assert [both.weight(task, 5) for task in range(5)] == [0, 0, 0.25, 0.5, 1]
    assert [both.weight(task, 3) for task in range(3)] == [0.25, 0, 1]
    assert both.forgets


# ---------------------------------------------------------------------------------- names


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_a_policy_is_made_again_from_its_name_and_config(policy):
    assert policy_class(policy.name)(**policy.config) == policy


def test_nothing_said_is_long_term_memory():
    assert resolve_policy(None) == resolve_policy("long-term") == LongTerm()
    assert resolve_policy(LongTerm(), queue=2) == Queue(2)
    assert resolve_policy("decay") == Decay()


@dataclass(frozen=True)
class OnlyEven(ForgettingPolicy):
    """A policy of another package."""

    name = "only-even"

    def weight(self, task, n_tasks):
        return float(task % 2 == 0 or task == n_tasks - 1)


@pytest.fixture
def other_package(monkeypatch):
    """An installed package that names policies by entry points."""
    names = {"only-even": "OnlyEven", "broken": "Missing", "no-policy": "TASKS"}
    group = "clsnet.forgetting"
    entries = [
        importlib.metadata.EntryPoint(name, f"{__name__}:{value}", group)
        for name, value in names.items()
    ]

    def entry_points(**wanted):
        return entries if wanted == {"group": group} else ()

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)


def test_a_policy_of_another_package_is_found_by_its_name(other_package):
    model = CLSNet(connection="Z", retain="tasks", forgetting="only-even")
    for rows in ROWS:
        model.partial_fit(X[rows], Y[rows])
    assert [task.classes != [] for task in model.tasks_] == [True, False, True, True]


BAD = {
    "unknown name": (lambda: resolve_policy("fades"), "no forgetting policy 'fades'; known are lo"),
    "no policy": (lambda: resolve_policy(3), "forgetting=3: use a policy, or the name of one"),
    "needs parameters": (lambda: resolve_policy("queue"), r"'queue' needs parameters.*Queue\("),
    "length": (lambda: Queue(0), "queue length 0: use a number of tasks"),
    "length of a fraction": (lambda: Queue(1.5), "queue length 1.5"),
    "half-life": (lambda: Decay(0), "half_life=0: use a number of tasks above 0"),
    "endless half-life": (lambda: Decay(float("inf")), "half_life=inf"),
    "half-life that is none": (lambda: Decay("long"), "half_life='long'"),
    "task": (lambda: ShortTerm((-1,)), "short-term task -1"),
    "task by name": (lambda: ShortTerm(("cats",)), "short-term task 'cats'"),
    "combination": (lambda: Combined((LongTerm(), "queue")), "'queue' is no forgetting policy"),
    "decay of a total": (lambda: Rule(forgetting=Decay()), 'they need retain="tasks"'),
    "decay of classes": (lambda: Rule(retain="classes", forgetting=Decay()), "need retain"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_policy_is_refused_in_one_line(case):
    make, message = BAD[case]
    with pytest.raises(ClsnetError, match=message) as refusal:
        make()
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "name, message",
    [("broken", "'broken' fails to import"), ("no-policy", "is not a ForgettingPolicy")],
)
def test_a_bad_policy_of_another_package_is_refused_by_name(other_package, name, message):
    with pytest.raises(ClsnetError, match=message):
        resolve_policy(name)


# ----------------------------------------------------------------------------------- decay


def weighted(tasks, half_life, ridge, n_tasks=None):
    """Ridge regression in which each sample weighs as much as its task."""
    ages = [(n_tasks or tasks[-1] + 1) - 1 - task for task in tasks]
    rows = np.concatenate([ROWS[task] for task in tasks])
    sizes = [len(ROWS[task]) for task in tasks]
    weights = np.repeat([0.5 ** (age / half_life) for age in ages], sizes)
    labels = list(dict.fromkeys(c for task in tasks for c in sorted(TASKS[task])))
    targets = one_hot(Y[rows], labels)
    scale = (weights[:, None] * A[rows] ** 2).sum(axis=0).mean()
    ridges = np.array(GRID if ridge == "auto" else [ridge]) * scale
    omegas, errors = ridge_regression(A[rows], targets, ridges, weights)
    best = int(np.argmin(errors))
    own = temperature(A[rows], Y[rows], labels, omegas[best], ridges[best], weights)
    return labels, omegas[best], own


def taught(half_life, ridge, tasks=(0, 1, 2, 3), **options):
    model = CLSNet(
        backbone=Identity("none"),
        connection="Z",
        retain="tasks",
        forgetting=Decay(half_life),
        ridge=ridge,
        **options,
    )
    for task in tasks:
        model.partial_fit(X[ROWS[task]], Y[ROWS[task]])
    return model


def assert_weighted(model, tasks, half_life, ridge, n_tasks=None):
    labels, omega, expected = weighted(tasks, half_life, ridge, n_tasks)
    order = [model.classes_.tolist().index(label) for label in labels]
    assert len(labels) == len(model.classes_)
    found = model.classifier_.omega[:, order]
    np.testing.assert_allclose(found, omega, rtol=0, atol=1e-8 * abs(omega).max())
    assert model.classifier_.calibration.temperature == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("ridge", ["auto", 1e-3])
@pytest.mark.parametrize("half_life", [0.5, 2.0])
def test_decay_is_ridge_regression_with_weighted_samples(half_life, ridge):
    model = taught(half_life, ridge, [0])
    for last in range(1, len(TASKS)):
        model.partial_fit(X[ROWS[last]], Y[ROWS[last]])
        assert_weighted(model, range(last + 1), half_life, ridge)


@pytest.mark.parametrize("ridge", ["auto", 1e-3])
@pytest.mark.parametrize("gone", range(len(TASKS)))
def test_decay_without_a_forgotten_task_is_the_same_without_its_samples(gone, ridge):
    model = taught(1.0, ridge).forget(task=gone)
    left = [task for task in range(len(TASKS)) if task != gone]
    assert_weighted(model, left, 1.0, ridge)


@pytest.mark.parametrize("ridge", ["auto", 1e-3])
def test_decay_goes_on_after_saving(ridge, tmp_path):
    model = taught(1.5, ridge, [0, 1])
    model.save(tmp_path / "m.clsnet")
    model = load(tmp_path / "m.clsnet")
    assert_weighted(model, [0, 1], 1.5, ridge)
    for task in (2, 3):
        model.partial_fit(X[ROWS[task]], Y[ROWS[task]])
    assert_weighted(model, range(4), 1.5, ridge)


def test_weights_of_tasks_that_wait_are_those_of_the_last_one():
    model = AnalyticClassifier(Rule(retain="tasks", forgetting=Decay(1), ridge=1e-3), 65, "cpu")
    for rows in ROWS:
        model = model.observe(lambda rows=rows: [(A[rows], Y[rows])])
    labels, omega, _ = weighted(range(4), 1.0, 1e-3)
    assert model.labels == labels
    np.testing.assert_allclose(model.consolidated().omega, omega, rtol=0, atol=1e-8)


def test_decay_multiplies_gamma():
    model = taught(1.0, 1e-3, gamma=(8.0, 4.0, 2.0))
    other = CLSNet(backbone=Identity("none"), connection="Z", retain="tasks", ridge=1e-3, gamma=1.0)
    for rows in ROWS:
        other.partial_fit(X[rows], Y[rows])
    np.testing.assert_allclose(model.classifier_.omega, other.classifier_.omega, atol=1e-9)


@pytest.mark.parametrize("curvature", ["low-rank", "diagonal"])
def test_other_curvatures_decay_as_with_a_gamma_of_that_size(curvature):
    tasks = [(0, 1), (2, 3, 4), (5, 6)]
    options = {"curvature": curvature, "retain": "tasks", "ridge": 1e-3, "rank": 20}
    model = CLSNet(connection="Z", forgetting=Decay(1), **options)
    other = CLSNet(connection="Z", gamma=(0.25, 0.5), **options)
    for classes in tasks:
        rows = np.isin(Y, classes)
        model.partial_fit(X[rows], Y[rows])
        other.partial_fit(X[rows], Y[rows])
    np.testing.assert_allclose(model.classifier_.omega, other.classifier_.omega, atol=1e-9)


def test_few_samples_decay_without_a_matrix_of_all_columns():
    size = 400
    random = np.random.default_rng(0)
    parts = [(random.standard_normal((9, size)), np.arange(9) % 3) for _ in range(4)]
    model = AnalyticClassifier(Rule(retain="tasks", forgetting=Decay(1), ridge=1e-2), size, "cpu")
    for B, y in parts:
        model = model.learn(lambda B=B, y=y: [(B, y)])
    assert not any("gram" in vars(trace) for trace in model.traces.values())
    B, y = (np.concatenate(part) for part in zip(*parts, strict=True))
    weights = np.repeat([0.125, 0.25, 0.5, 1.0], 9)
    scale = (weights[:, None] * B**2).sum(axis=0).mean()
    [expected], _ = ridge_regression(B, one_hot(y, range(3)), [1e-2 * scale], weights)
    np.testing.assert_allclose(model.omega, expected, rtol=0, atol=1e-10)
