"""Probabilities from sums: as literal versions say, whatever the order, and as good as promised."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

from clsnet import CLSNet, load
from clsnet.arrays.devices import to_device
from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.calibration import UNTESTED, Calibration, softmax
from clsnet.classifier.rule import Rule
from clsnet.extractor import Identity
from tests.literal import mean_diagonal, temperature

X, Y = load_digits(return_X_y=True)
A = np.c_[X / 16, np.ones(len(X))]
TASKS = [(0, 1), (2, 3, 4), (5,), (6, 7, 8, 9)]


def taught(tasks, rows, retain="total", ridge=1e-3, device="cpu"):
    classifier = AnalyticClassifier(Rule(retain=retain, ridge=ridge), A.shape[1], device)
    for task in tasks:
        own = rows[np.isin(Y[rows], task)]
        batch = to_device(A[own], device), Y[own]
        classifier = classifier.learn(lambda batch=batch: [batch])
    return classifier


def on_digits(**options):
    return CLSNet(backbone=Identity("none"), connection="Z", **options)


# ----------------------------------------------------------------------- what the number is


@pytest.mark.parametrize("retain", ["total", "tasks", "classes"])
@pytest.mark.parametrize(("n", "ridge"), [(1200, 1e-3), (300, 1e-2), (150, 0.3)])
def test_the_temperature_is_that_of_a_literal_version(n, ridge, retain, device):
    rows = np.arange(n)
    found = taught(TASKS, rows, retain, ridge, device)
    absolute = ridge * mean_diagonal(A[rows])
    labels = list(range(10))
    omega = np.linalg.solve(
        A[rows].T @ A[rows] + absolute * np.eye(65), A[rows].T @ np.eye(10)[Y[rows]]
    )
    expected = temperature(A[rows], Y[rows], labels, omega, absolute)
    assert found.calibration.temperature == pytest.approx(expected, rel=0.03)
    assert found.calibration.doubt == pytest.approx(1 / (n + 10))


def test_samples_of_weight_two_are_samples_seen_twice():
    some, weights = np.arange(400), 1.0 + (np.arange(400) % 3 == 0)
    twice = np.repeat(some, weights.astype(int))
    one = on_digits(ridge=0.01).fit(X[some], Y[some], sample_weight=weights)
    two = on_digits(ridge=0.01).fit(X[twice], Y[twice])
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-9)


def test_the_temperature_is_close_to_the_best_one_for_new_samples():
    for n, ridge in [(100, 1.0), (300, 1e-2), (1200, 1e-4)]:
        found = taught(TASKS, np.arange(n), ridge=ridge)
        scores = found.scores(A[1200:])
        losses = [log_loss(Y[1200:], softmax(scores / t)) for t in np.geomspace(0.005, 1, 60)]
        chances = found.calibration.probabilities(scores)
        assert log_loss(Y[1200:], chances) < 1.1 * min(losses)


# ------------------------------------------------------------------------------- exactness


@pytest.mark.parametrize("retain", ["total", "tasks", "classes"])
def test_probabilities_do_not_depend_on_the_order_of_tasks(retain):
    rows = np.arange(1000)
    one, two = taught(TASKS, rows, retain), taught(TASKS[::-1], rows, retain)
    first = one.calibration.probabilities(one.scores(A))
    second = two.calibration.probabilities(two.scores(A))
    np.testing.assert_allclose(
        first[:, np.argsort(one.labels)], second[:, np.argsort(two.labels)], atol=1e-9
    )


@pytest.mark.parametrize(
    ("retain", "gone"), [("tasks", {"task": 1}), ("classes", {"classes": [2, 3, 4]})]
)
def test_after_forgetting_probabilities_are_those_of_a_model_that_never_saw_it(retain, gone):
    model, fresh = on_digits(retain=retain), on_digits(retain=retain)
    for task in TASKS:
        own = np.isin(Y, task)
        model.partial_fit(X[own], Y[own])
        if task != TASKS[1]:
            fresh.partial_fit(X[own], Y[own])
    model.forget(**gone)
    np.testing.assert_allclose(model.predict_proba(X), fresh.predict_proba(X), atol=1e-9)


def test_a_saved_model_gives_the_same_probabilities_and_goes_on_alike(tmp_path):
    weights = 1.0 + (np.arange(len(Y)) % 3)
    early, late = Y < 6, Y >= 6
    model = on_digits(retain="tasks").partial_fit(X[early], Y[early], sample_weight=weights[early])
    model.save(tmp_path / "m.clsnet")
    copy = load(tmp_path / "m.clsnet")
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    for each in (model, copy):
        each.partial_fit(X[late], Y[late], sample_weight=weights[late])
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


# ------------------------------------------------------------------------------ hard cases


@pytest.mark.parametrize("per_class", [1, 2, 5, 100])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 10])
def test_probabilities_sum_to_one_and_agree_with_the_answer(n_classes, per_class):
    rows = np.concatenate([np.flatnonzero(c == Y)[:per_class] for c in range(n_classes)])
    model = CLSNet().fit(X[rows], Y[rows])
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert chances.min() > 0
    np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))


def test_scores_that_pass_through_every_target_tell_nothing_of_new_samples():
    model = on_digits(ridge=1e-9).fit(X[:40], Y[:40])
    assert model.classifier_.calibration.temperature == UNTESTED


def test_labels_of_noise_are_given_even_probabilities():
    random = np.random.default_rng(0)
    model = on_digits().fit(X, random.integers(0, 2, len(X)))
    assert log_loss(random.integers(0, 2, len(X)), model.predict_proba(X)) < np.log(2) + 0.02


def test_hundreds_of_classes_with_few_samples():
    random = np.random.default_rng(0)
    centres = random.standard_normal((300, 40))
    y = np.arange(1500) % 300
    train, test = (centres[y] + random.standard_t(3, (1500, 40)) for _ in range(2))
    model = on_digits().fit(train, y)
    scores = model.decision_function(test)
    losses = [log_loss(y, softmax(scores / t)) for t in np.geomspace(0.005, 1, 60)]
    assert log_loss(y, model.predict_proba(test)) < 1.1 * min(losses)


def test_the_rule_of_the_paper_keeps_no_sums_and_takes_the_noise_of_its_scores():
    model = CLSNet.paper().partial_fit(X[Y < 2], Y[Y < 2]).partial_fit(X[Y == 2], Y[Y == 2])
    assert model.classifier_.calibration.doubt == 0
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_noise_is_a_temperature_within_bounds():
    assert [Calibration.of_noise(n).temperature for n in (0.0, 0.3, np.inf)] == [0.02, 0.3, 1.0]
