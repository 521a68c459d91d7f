import copy

import numpy as np
import pytest

from clsnet.methods.ranpac import METHOD, RIDGES, RanPAC

NODES = 40


def relu(values):
    return np.where(values > 0, values, 0)


@pytest.fixture(scope="module")
def model(vectors):
    model = RanPAC(nodes=NODES, device="cpu")
    for task in vectors[:3]:
        model.partial_fit(task.X_train, task.y_train)
    return model


@pytest.fixture(scope="module")
def expanded(model, vectors):
    """The random layer's outputs of each task."""
    projection = model.layer.weights.astype(float)
    return [
        relu(model.extractor_.transform(task.X_train).astype(float) @ projection)
        for task in vectors[:3]
    ]


def one_hot(y, classes):
    return (y[:, None] == np.array(classes)).astype(float)


def test_weights_are_ridge_regression_on_all_tasks(model, expanded, vectors):
    H, y = np.concatenate(expanded), np.concatenate([task.y_train for task in vectors[:3]])
    left = H.T @ H + model.ridge * np.eye(NODES)
    expected = np.linalg.solve(left, H.T @ one_hot(y, sorted(set(y.tolist()))))
    tolerance = 1e-3 * np.abs(expected).max()
    np.testing.assert_allclose(model.consolidate().solution, expected, atol=tolerance)


def test_answers_with_the_largest_output(model, vectors):
    projection, weights = model.layer.weights.astype(float), model.consolidate().solution
    classes = np.array(sorted(c for task in vectors[:3] for c in task.classes))
    for task in vectors[:3]:
        A = model.extractor_.transform(task.X_test).astype(float)
        outputs = relu(A @ projection) @ weights
        np.testing.assert_array_equal(model.predict(task.X_test), classes[outputs.argmax(axis=1)])


@pytest.mark.parametrize("noise", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("nodes", [NODES, 150])
def test_ridge_serves_the_last_fifth_best_when_learned_from_the_rest(noise, nodes):
    random = np.random.RandomState(0)
    y = random.randint(3, size=100)
    H = random.normal(size=(100, nodes)) * noise + 2 * one_hot(y, range(nodes))
    model = RanPAC(nodes=nodes, device="cpu")
    model.start(7)
    random_before = copy.deepcopy(model.random)
    found = model.best_ridge(H, y)

    order = random_before.permutation(100)
    rows, held_out = order[:80], order[80:]
    errors = []
    for exponent in range(-8, 9):
        left = H[rows].T @ H[rows] + 10.0**exponent * np.eye(nodes)
        weights = np.linalg.solve(left, H[rows].T @ one_hot(y[rows], range(3)))
        errors.append(((H[held_out] @ weights - one_hot(y[held_out], range(3))) ** 2).mean())
    assert found == pytest.approx(10.0 ** (int(np.argmin(errors)) - 8))
    assert found in RIDGES


def test_columns_of_classes_to_come_change_no_choice():
    # the authors' targets hold them; zeros are predicted as zeros whatever the ridge
    random = np.random.RandomState(0)
    H = random.normal(size=(50, 6))
    Y = np.hstack([one_hot(random.randint(2, size=50), range(2)), np.zeros((50, 3))])
    weights = np.linalg.solve(H.T @ H + 3.0 * np.eye(6), H.T @ Y)
    assert (weights[:, 2:] == 0).all()


def test_a_twin_shares_extractor_and_projection_and_nothing_else(model, vectors):
    twin = model.twin().partial_fit(vectors[3].X_train, vectors[3].y_train)
    assert twin.extractor_ is model.extractor_
    assert np.array_equal(twin.layer.weights, model.layer.weights)
    assert twin.labels == sorted(vectors[3].classes)
    assert len(model.labels) == 6


def test_memory_is_extractor_triangle_and_prototypes(model):
    extractor = sum(value.size for value in model.extractor_.state().values())
    numbers = extractor + NODES * (NODES + 1) // 2 + 6 * NODES
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 0


def test_method_hands_over_seed_and_preset():
    model = METHOD.build(3, "small", device="cpu")
    assert (model.seed, model.preset, model.width) == (3, "small", 2_000)
    assert METHOD.build(3, "best", device="cpu").width == 10_000
