import numpy as np
import pytest

from clsnet.errors import ClsnetError
from clsnet.methods.acil import ACIL, METHOD

NODES = 60


def relu(values):
    return np.where(values > 0, values, 0)


def learned(model, tasks):
    for task in tasks:
        model.partial_fit(task.X_train, task.y_train)
    return model


@pytest.fixture(scope="module")
def model(vectors):
    return learned(ACIL(nodes=NODES, device="cpu"), vectors[:3])


@pytest.fixture(scope="module")
def X_test(vectors):
    return np.concatenate([task.X_test for task in vectors])


def test_weights_are_ridge_regression_on_all_samples(model, vectors):
    X = np.concatenate([task.X_train for task in vectors[:3]])
    y = np.concatenate([task.y_train for task in vectors[:3]])
    H = relu(model.extractor_.transform(X) @ model.layer.weights.astype(float))
    Y = (y[:, None] == np.array(model.labels)).astype(float)
    expected = np.linalg.solve(H.T @ H + 0.1 * np.eye(NODES), H.T @ Y)
    tolerance = 1e-9 * np.abs(expected).max()
    np.testing.assert_allclose(model.consolidate().solution, expected, atol=tolerance)


def test_answers_with_the_largest_output(model, vectors):
    weights = model.consolidate().solution
    for task in vectors[:3]:
        A = model.extractor_.transform(task.X_test)
        outputs = relu(A @ model.layer.weights.astype(float)) @ weights
        expected = np.array(model.labels)[outputs.argmax(axis=1)]
        np.testing.assert_array_equal(model.predict(task.X_test), expected)


def test_order_and_division_into_tasks_do_not_matter(model, vectors, X_test):
    twin = model.twin()
    for task in reversed(vectors[:3]):
        half = len(task.y_train) // 2  # classes come again
        twin.partial_fit(task.X_train[half:], task.y_train[half:])
        twin.partial_fit(task.X_train[:half], task.y_train[:half])
    np.testing.assert_array_equal(twin.predict(X_test), model.predict(X_test))
    A = model.extractor_.transform(X_test)
    place = [twin.labels.index(label) for label in model.labels]
    ours, theirs = model.consolidate().scores(A), twin.consolidate().scores(A)[:, place]
    np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_a_task_of_more_than_one_block_is_learned_whole(vectors, model):
    X = np.concatenate([task.X_train for task in vectors])
    y = np.concatenate([task.y_train for task in vectors])
    whole, parts = model.twin().partial_fit(X, y), learned(model.twin(), vectors)
    place = [whole.labels.index(label) for label in parts.labels]
    expected = parts.consolidate().solution
    np.testing.assert_allclose(whole.consolidate().solution[:, place], expected, atol=1e-7)


def test_learns_the_digits(vectors):
    model = learned(ACIL(nodes=500, device="cpu"), vectors)
    hits = [model.predict(task.X_test) == task.y_test for task in vectors]
    assert np.mean(np.concatenate(hits)) > 0.95


def test_one_sample_of_each_class_is_enough_to_go_on():
    X, y = np.eye(3), np.array(["one", "two", "three"])
    model = ACIL(nodes=50, device="cpu")
    for i in range(3):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert set(model.predict(X)) <= set(y)


def test_a_twin_shares_extractor_and_random_layer_and_nothing_else(model, vectors):
    before = model.regression.inverse.copy()
    twin = model.twin().partial_fit(vectors[3].X_train, vectors[3].y_train)
    assert twin.extractor_ is model.extractor_
    assert np.array_equal(twin.layer.weights, model.layer.weights)
    assert twin.labels == sorted(vectors[3].classes)
    assert len(model.labels) == 6
    assert np.array_equal(model.regression.inverse, before)


def test_memory_is_extractor_triangle_and_weights(model):
    extractor = sum(value.size for value in model.extractor_.state().values())
    numbers = extractor + NODES * (NODES + 1) // 2 + 6 * NODES
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 0


@pytest.mark.parametrize("options", [{"ridge": 0}, {"ridge": -1.0}, {"nodes": 0}])
def test_an_option_that_is_not_above_zero_is_refused(options):
    with pytest.raises(ClsnetError, match=r"=.*: use a number above 0\."):
        ACIL(device="cpu", **options).check_parameters()


def test_width_follows_from_the_preset():
    model = METHOD.build(3, "small", device="cpu")
    assert (model.seed, model.preset, model.width) == (3, "small", 2_000)
    assert METHOD.build(3, "best", device="cpu").width == 8_192
