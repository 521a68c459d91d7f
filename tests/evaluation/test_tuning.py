from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from clsnet import CLSNet
from clsnet.data import Task
from clsnet.evaluation.protocol import evaluate
from clsnet.evaluation.tuning import can_grow, hold_out, tune
from clsnet.memory import MemoryUse
from clsnet.methods import Method, get_method


def rows(X):
    return [row.tobytes() for row in X]


def test_the_held_out_part_is_a_fifth_of_the_training_data_class_by_class(tasks):
    task = tasks[0]
    part = hold_out(task, seed=0)
    for label in task.classes:
        n = np.sum(task.y_train == label)
        assert np.sum(part.y_test == label) == round(0.2 * n)
        assert np.sum(part.y_train == label) == n - round(0.2 * n)


def test_the_two_parts_are_disjoint_and_make_up_the_training_data(tasks):
    task = tasks[0]
    numbered = replace(task, X_train=np.arange(len(task.y_train)))
    part = hold_out(numbered, seed=0)
    assert not set(part.X_train) & set(part.X_test)
    assert sorted([*part.X_train, *part.X_test]) == list(range(len(task.y_train)))
    np.testing.assert_array_equal(part.y_test, task.y_train[part.X_test])


def test_the_split_follows_from_the_seed(tasks):
    one, same, other = (hold_out(tasks[0], seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.X_test, same.X_test)
    assert not np.array_equal(one.X_test, other.X_test)


class Recorder:
    """A model that writes down all it sees, and is right with a given probability."""

    seen: ClassVar[set[bytes]] = set()

    def __init__(self, seed=0, a=0.0, b=0.0):
        self.accuracy = a + b

    def partial_fit(self, X, y):
        self.seen.update(rows(X))
        self.last = y[0]

    def predict(self, X):
        self.seen.update(rows(X))
        answers = np.full(len(X), self.last)
        answers[int(self.accuracy * len(X)) :] = -1
        return answers

    def memory(self):
        return MemoryUse(model_mb=0.0)


def described(learner, grid):
    return Method("test", __name__, learner, "test", "nothing", "this file", grid=grid)


def test_no_test_sample_is_ever_seen(tasks):
    Recorder.seen.clear()
    assert tune(described("Recorder", {"a": [0.1, 0.2, 0.3, 2.0]}), tasks, seed=0).n_tried > 4
    seen = Recorder.seen
    assert seen
    train = {row for task in tasks for row in rows(task.X_train)}
    assert seen <= train
    only_test = {row for task in tasks for row in rows(task.X_test)} - train
    assert only_test and not seen & only_test


def test_the_best_of_the_grid_is_chosen(tasks):
    tried = []
    best = tune(
        described("Recorder", {"a": [0.1, 0.5, 0.3, 0.0], "b": [0.2, 0.4, 0.0]}),
        tasks[:2],
        seed=0,
        progress=lambda options, accuracy: tried.append((options, accuracy)),
    )
    assert best.options == {"a": 0.5, "b": 0.4}
    assert len(tried) == best.n_tried == 12
    assert max(tried, key=lambda pair: pair[1])[0] == best.options


# ------------------------------------------------------------------------- wider grids


class Peaked:
    """Samples are their own labels; it is the more often right the nearer both options are."""

    best: ClassVar[dict[str, float]] = {"a": 1.0, "b": 1.0}

    def __init__(self, seed=0, a=1.0, b=1.0, mode="slow", margin=0.0):
        far = sum(abs(np.log10(value / self.best[name])) for name, value in (("a", a), ("b", b)))
        self.accuracy = 0.9 - 0.02 * far

    def partial_fit(self, X, y):
        pass

    def predict(self, X):
        return np.where(np.arange(len(X)) < self.accuracy * len(X), X, -1)

    def memory(self):
        return MemoryUse(model_mb=0.0)


class Bounded(Peaked):
    """Refuses what lies beyond its bounds."""

    def __init__(self, seed=0, a=1.0, b=1.0):
        if not 0.001 <= a <= 1:
            raise ValueError("a is a fraction")
        super().__init__(seed, a, b)


class Flat(Peaked):
    def __init__(self, seed=0, a=1.0):
        self.accuracy = 0.5


@pytest.fixture
def labels():
    y = np.arange(1000) % 2
    return [Task((0, 1), y, y, y, y)]


@pytest.fixture
def peak(monkeypatch):
    return lambda **best: monkeypatch.setattr(Peaked, "best", {"a": 1.0, "b": 1.0, **best})


@pytest.mark.parametrize("best", [1e-6, 1e-3, 0.1, 10.0, 1e5])
def test_a_grid_grows_until_the_choice_lies_inside(labels, peak, best):
    peak(a=best)
    found = tune(described("Peaked", {"a": [0.1, 1.0, 10.0]}), labels, seed=0)
    assert found.options["a"] == pytest.approx(best)
    assert found.on_edge == []


def test_a_grid_that_holds_the_best_inside_does_not_grow(labels, peak):
    found = tune(described("Peaked", {"a": [0.1, 1.0, 10.0]}), labels, seed=0)
    assert (found.options, found.n_tried) == ({"a": 1.0}, 3)


def test_only_the_side_and_the_option_on_the_edge_grow(labels, peak):
    peak(a=100.0)
    tried = []
    grid = {"a": [0.1, 1.0, 10.0], "b": [0.5, 1.0, 2.0]}
    found = tune(described("Peaked", grid), labels, seed=0, progress=lambda o, _: tried.append(o))
    assert found.options == {"a": 100.0, "b": 1.0}
    assert {o["a"] for o in tried} == {0.1, 1.0, 10.0, 100.0, 1000.0}
    assert {o["b"] for o in tried} == {0.5, 1.0, 2.0}
    assert len(tried) == found.n_tried == 15  # nothing is tried twice


def test_a_grid_stops_growing_at_some_time_and_says_so(labels, peak):
    peak(a=1e30)
    found = tune(described("Peaked", {"a": [0.1, 1.0, 10.0], "b": [1.0]}), labels, seed=0)
    assert found.on_edge == ["a"]
    assert found.n_tried == 3 + 8


def test_a_value_beyond_the_grid_that_the_method_refuses_is_not_chosen(labels, peak):
    peak(a=1e3)
    found = tune(described("Bounded", {"a": [0.01, 0.1, 1.0]}), labels, seed=0)
    assert (found.options, found.on_edge, found.n_tried) == ({"a": 1.0}, [], 4)
    with pytest.raises(ValueError, match="a is a fraction"):
        tune(described("Bounded", {"a": [0.1, 1.0, 10.0]}), labels, seed=0)


@pytest.mark.parametrize(
    "grid",
    [{"mode": ["slow", "fast"]}, {"a": [1, 10, 100]}, {"a": [1.0]}, {"margin": [0.0, 0.5]}],
    ids=str,
)
def test_words_integers_zeros_and_single_values_do_not_grow(labels, peak, grid):
    peak(a=1e4)
    found = tune(described("Peaked", grid), labels, seed=0)
    (values,) = grid.values()
    on_edge = ["a"] if values == [1, 10, 100] else []  # an integer on an edge is told
    assert (found.n_tried, found.on_edge) == (len(values), on_edge)


def test_among_equals_one_inside_the_grid_is_chosen(labels):
    found = tune(described("Flat", {"a": [0.1, 1.0, 10.0]}), labels, seed=0)
    assert (found.options, found.n_tried) == ({"a": 1.0}, 3)


def test_nothing_is_tried_where_every_option_is_given(labels):
    found = tune(described("Flat", {"a": [0.1, 1.0]}), labels, seed=0, given={"a": 3.0})
    assert (found.options, found.n_tried) == ({}, 0)


@pytest.mark.parametrize(
    ("name", "given"), [("slda", {}), ("clsnet-paper", {"groups": 3, "group_size": 10})]
)
def test_a_real_methods_choice_lies_inside_its_grid_in_the_end(tasks, name, given):
    method = get_method(name)
    grid = {key: values[-2:] for key, values in method.grid.items()}
    given = {"backbone": "identity", **given}
    found = tune(replace(method, grid=grid), tasks[:2], seed=0, given=given)
    assert found.on_edge == []
    assert found.n_tried > 2 ** len(grid)


def small_model(seed, ridge):
    return CLSNet(groups=2, group_size=5, random_state=seed, ridge=ridge)


def test_a_real_parameter_is_tuned_to_what_is_best_on_held_out_data(small, vectors):
    method = described("small_model", {"ridge": [1e6, 1e-3]})
    assert tune(method, vectors[:3], seed=0).options["ridge"] <= 1e-3
    parts = [hold_out(task, 0) for task in vectors[:3]]
    good, bad = (
        evaluate(lambda ridge=ridge: small(ridge=ridge), parts).metrics()["avg_acc"]
        for ridge in (1e-3, 1e6)
    )
    assert good > bad + 0.05


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_class_of_few_samples_still_has_some_to_learn_from(tasks, n):
    task = tasks[0]
    few = np.concatenate([np.flatnonzero(task.y_train == label)[:n] for label in task.classes])
    part = hold_out(replace(task, X_train=task.X_train[few], y_train=task.y_train[few]), seed=0)
    assert set(part.y_train) == set(task.classes)


@pytest.mark.parametrize("name", ["dmc", "ewc", "gem", "il2m", "mas", "owm", "rm", "si"])
def test_grids_of_gradient_methods_can_grow_beyond_every_edge(name):
    grid = get_method(name).grid
    assert grid
    assert all(can_grow(values) for values in grid.values())
