from dataclasses import replace

import numpy as np
import pytest

from clsnet.methods.acil import ACIL
from clsnet.methods.air import AIR, METHOD

NODES = 60
FEW = 6


def learned(model, tasks):
    for task in tasks:
        model.partial_fit(task.X_train, task.y_train)
    return model


def with_few(task, count_of):
    """The task with fewer training samples of each class."""
    rows = [np.flatnonzero(task.y_train == label)[: count_of(label)] for label in task.classes]
    rows = np.concatenate(rows)
    return replace(task, X_train=task.X_train[rows], y_train=task.y_train[rows])


@pytest.fixture(scope="module")
def balanced(vectors):
    return [with_few(task, lambda label: 100) for task in vectors]


@pytest.fixture(scope="module")
def imbalanced(vectors):
    """Odd digits have few samples."""
    return [with_few(task, lambda label: FEW if label % 2 else 140) for task in vectors]


@pytest.fixture(scope="module")
def model(imbalanced):
    return learned(AIR(nodes=NODES, device="cpu"), imbalanced)


def test_weights_are_ridge_regression_with_every_class_weighing_the_same(model, imbalanced):
    X = np.concatenate([task.X_train for task in imbalanced])
    y = np.concatenate([task.y_train for task in imbalanced])
    H = np.maximum(model.extractor_.transform(X) @ model.layer.weights.astype(float), 0)
    Y = (y[:, None] == np.array(model.labels)).astype(float)
    shares = np.array([1 / (y == label).sum() for label in y])
    shares *= 10 / sum(1 / (y == label).sum() for label in range(10))
    left = H.T @ (H * shares[:, None]) + 0.1 * np.eye(NODES)
    expected = np.linalg.solve(left, H.T @ (Y * shares[:, None]))
    tolerance = 1e-9 * np.abs(expected).max()
    np.testing.assert_allclose(model.consolidate().solution, expected, atol=tolerance)


def test_it_is_acil_where_classes_are_balanced(balanced):
    ours, plain = (learned(kind(nodes=NODES, device="cpu"), balanced) for kind in (AIR, ACIL))
    assert ours.labels == plain.labels
    expected = plain.consolidate().solution
    tolerance = 1e-8 * np.abs(expected).max()
    np.testing.assert_allclose(ours.consolidate().solution, expected, atol=tolerance)


@pytest.mark.parametrize("seed", [0, 1])
def test_rare_classes_are_recognised_better_where_classes_are_not(imbalanced, seed):
    options = {"nodes": 500, "seed": seed, "device": "cpu"}
    found = {}
    for kind in (AIR, ACIL):
        model = learned(kind(**options), imbalanced)
        hits = [model.predict(task.X_test) == task.y_test for task in imbalanced]
        rare = np.concatenate([task.y_test % 2 == 1 for task in imbalanced])
        found[kind] = np.concatenate(hits).mean(), np.concatenate(hits)[rare].mean()
    assert found[AIR][0] > found[ACIL][0]
    assert found[AIR][1] > found[ACIL][1] + 0.02


def test_order_and_division_into_tasks_do_not_matter(model, imbalanced):
    twin = model.twin()
    for task in reversed(imbalanced):
        half = 2 * (len(task.y_train) // 3)
        twin.partial_fit(task.X_train[half:], task.y_train[half:])
        twin.partial_fit(task.X_train[:half], task.y_train[:half])
    place = [twin.labels.index(label) for label in model.labels]
    expected = model.consolidate().solution
    np.testing.assert_allclose(twin.consolidate().solution[:, place], expected, atol=1e-8)


def test_memory_is_extractor_triangles_sums_and_counts(model):
    extractor = sum(value.size for value in model.extractor_.state().values())
    numbers = extractor + 10 * (NODES * (NODES + 1) // 2 + NODES + 1)
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 0


def test_width_follows_from_the_preset():
    model = METHOD.build(3, "small", device="cpu")
    assert (model.seed, model.preset, model.width) == (3, "small", 2_000)
    assert METHOD.build(3, "best", device="cpu").width == 8_192
