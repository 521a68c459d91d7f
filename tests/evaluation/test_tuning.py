from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from clsnet import CLSNet
from clsnet.evaluation.protocol import evaluate
from clsnet.evaluation.tuning import hold_out, tune
from clsnet.memory import MemoryUse
from clsnet.methods import Method


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
    tune(described("Recorder", {"a": [0.1, 0.2]}), tasks, seed=0)
    seen = Recorder.seen
    assert seen
    train = {row for task in tasks for row in rows(task.X_train)}
    assert seen <= train
    only_test = {row for task in tasks for row in rows(task.X_test)} - train
    assert only_test and not seen & only_test


def test_the_best_of_the_grid_is_chosen(tasks):
    tried = []
    best = tune(
        described("Recorder", {"a": [0.1, 0.5, 0.3], "b": [0.2, 0.4, 0.0]}),
        tasks[:2],
        seed=0,
        progress=lambda options, accuracy: tried.append((options, accuracy)),
    )
    assert best == {"a": 0.5, "b": 0.4}
    assert len(tried) == 9
    assert max(tried, key=lambda pair: pair[1])[0] == best


def small_model(seed, ridge):
    return CLSNet(groups=2, group_size=5, random_state=seed, ridge=ridge)


def test_a_real_parameter_is_tuned_to_what_is_best_on_held_out_data(small, vectors):
    method = described("small_model", {"ridge": [1e6, 1e-3]})
    assert tune(method, vectors[:3], seed=0) == {"ridge": 1e-3}
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
