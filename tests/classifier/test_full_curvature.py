import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from clsnet import CLSNet
from clsnet.arrays.devices import to_device
from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.rule import Rule
from clsnet.errors import ClsnetError
from clsnet.extractor import Identity
from tests.literal import declarative_parameters, mean_diagonal, one_hot

CPU = "cpu"
few = settings(deadline=None, max_examples=30)


@st.composite
def streams(draw, max_classes=5):
    """Samples, some of them twice, with few or many features, cut into tasks anywhere."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, 40))
    d = draw(st.integers(1, 12))
    distinct = random.standard_normal((draw(st.integers(1, n)), d))
    A = distinct[random.integers(0, len(distinct), n)]
    y = random.integers(0, draw(st.integers(1, max_classes)), n)
    cuts = sorted(draw(st.sets(st.integers(1, n - 1), max_size=5))) if n > 1 else []
    return A, y, np.split(np.arange(n), cuts)


def learn(classifier, A, y, tasks):
    for rows in tasks:
        batches = [(to_device(A[rows], classifier.device), y[rows])]
        classifier = classifier.learn(lambda batches=batches: batches)
    return classifier


def assert_columns_equal(labels, omega, expected, rtol=1e-8):
    expected = np.stack([expected[label] for label in labels], axis=1)
    np.testing.assert_allclose(omega, expected, rtol=0, atol=rtol * abs(expected).max())


def ridge_regression(A, y, ridge):
    labels = sorted(set(y.tolist()))
    omega = declarative_parameters(A, one_hot(y, labels), ridge * mean_diagonal(A))
    return dict(zip(labels, omega.T, strict=True))


@few
@given(streams(), st.sampled_from([1e-3, 0.1, 2.0]), st.sampled_from(["total", "tasks", "classes"]))
def test_full_curvature_equals_ridge_on_all_data_for_any_split(stream, ridge, retain):
    A, y, tasks = stream
    rule = Rule(ridge=ridge, retain=retain)
    classifier = learn(AnalyticClassifier(rule, A.shape[1], CPU), A, y, tasks)
    assert_columns_equal(classifier.labels, classifier.omega, ridge_regression(A, y, ridge))
    assert [task.n_samples for task in classifier.tasks] == [len(rows) for rows in tasks]


@few
@given(streams(), st.randoms(use_true_random=False))
def test_full_curvature_does_not_depend_on_the_order_of_tasks(stream, random):
    A, y, tasks = stream
    shuffled = random.sample(tasks, len(tasks))
    blank = AnalyticClassifier(Rule(ridge=1e-3), A.shape[1], CPU)
    one, two = learn(blank, A, y, tasks), learn(blank, A, y, shuffled)
    assert_columns_equal(one.labels, one.omega, dict(zip(two.labels, two.omega.T, strict=True)))
    assert one.calibration.temperature == pytest.approx(two.calibration.temperature, rel=1e-6)


@few
@given(streams(), st.booleans())
def test_model_on_vectors_equals_ridge_on_all_data_for_any_split(stream, as_text):
    X, y, tasks = stream
    y = np.array([f"class {label}" for label in y]) if as_text else y
    model = CLSNet(backbone=Identity("none"), connection="Z", ridge=1e-3)
    for rows in tasks:
        model.partial_fit(X[rows], y[rows])
    A = np.c_[X, np.ones(len(X))]
    expected = ridge_regression(A, y, 1e-3)
    assert_columns_equal(model.classes_.tolist(), model.classifier_.omega, expected)


@few
@given(st.randoms(use_true_random=False), st.sets(st.integers(1, 299), max_size=6))
def test_automatic_ridge_does_not_depend_on_split_or_order(random, cuts):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300] / 16, y[:300]
    order = np.array(random.sample(range(300), 300))
    blank = AnalyticClassifier(Rule(), 64, CPU)
    one = learn(blank, X, y, [np.arange(300)])
    two = learn(blank, X, y, np.split(order, sorted(cuts)))
    assert_columns_equal(two.labels, two.omega, dict(zip(one.labels, one.omega.T, strict=True)))
    assert two.calibration.temperature == pytest.approx(one.calibration.temperature, rel=1e-8)


def test_classes_stand_in_the_order_in_which_tasks_brought_them():
    A, y = np.eye(6), np.array([5, 3, 3, 1, 5, 0])
    blank = AnalyticClassifier(Rule(), 6, CPU)
    classifier = learn(blank, A, y, [[0, 1], [2, 3], [4, 5]])
    assert classifier.labels == [3, 5, 1, 0]
    assert [task.counts for task in classifier.tasks] == [{3: 1, 5: 1}, {1: 1, 3: 1}, {0: 1, 5: 1}]


def test_learning_returns_a_new_classifier_and_leaves_the_old_one():
    A = np.random.default_rng(0).standard_normal((12, 4))
    y = np.arange(12) // 6
    one = learn(AnalyticClassifier(Rule(), 4, CPU), A, y, [np.arange(6)])
    omega, gram = one.omega.copy(), one.traces["total"].gram.copy()
    two = learn(one, A, y, [np.arange(6, 12)])
    assert np.array_equal(one.omega, omega)
    assert np.array_equal(one.traces["total"].gram, gram)
    assert (len(one.tasks), len(two.tasks)) == (1, 2)


@pytest.mark.parametrize("retain", ["total", "tasks"])
@pytest.mark.parametrize("gamma", [0.0, 0.25, 7.0, (3.0, 0.5)])
def test_gamma_weighs_the_samples_of_old_tasks(retain, gamma):
    random = np.random.default_rng(0)
    X, y = random.standard_normal((60, 5)), np.arange(60) // 10
    options = {"gamma": gamma, "retain": retain, "ridge": 1e-3}
    model = CLSNet(backbone=Identity("none"), connection="Z", **options)
    for task in range(3):
        rows = y // 2 == task
        model.partial_fit(X[rows], y[rows])
    of_task = [*(gamma if isinstance(gamma, tuple) else (gamma, gamma)), 1.0]
    weight = np.sqrt(np.array(of_task)[y // 2])[:, None]
    A = weight * np.c_[X, np.ones(60)]
    expected = declarative_parameters(A, weight * one_hot(y, range(6)), 1e-3 * mean_diagonal(A))
    np.testing.assert_allclose(model.classifier_.omega, expected, atol=1e-8)


@pytest.mark.parametrize("number", [2, 2.0, np.int64(2), np.float32(2)])
def test_gamma_is_any_kind_of_number(number):
    X, y = np.eye(4), np.arange(4)
    model = CLSNet(connection="Z", gamma=number).partial_fit(X, y).partial_fit(X, y + 4)
    assert model.classifier_.traces["total"].n_samples == 16


def test_only_the_third_term_pulls_towards_the_previous_solution():
    random = np.random.default_rng(0)
    A, y = random.standard_normal((40, 3)), np.arange(40) // 20
    one = learn(AnalyticClassifier(Rule(terms=(1, 2, 3)), 3, CPU), A, y, [np.arange(20)])
    two = learn(one, A, y, [np.arange(20, 40)])
    right = A.T @ one_hot(y, [0, 1]) + np.c_[one.omega, np.zeros(3)]
    np.testing.assert_allclose(two.omega, np.linalg.solve(A.T @ A + np.eye(3), right), atol=1e-10)


def test_a_task_without_samples_is_refused_first_or_later():
    model = CLSNet(connection="Z")
    with pytest.raises(ClsnetError, match="task is empty"):
        model.learn([])
    model.partial_fit(np.eye(2), [0, 1])
    with pytest.raises(ClsnetError, match="task is empty"):
        model.learn([])
    assert len(model.tasks_) == 1
