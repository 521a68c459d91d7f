import numpy as np
import pytest

from clsnet.methods.acil import ACIL
from clsnet.methods.ds_al import DSAL, METHOD

NODES = 60


def learned(model, tasks):
    for task in tasks:
        model.partial_fit(task.X_train, task.y_train)
    return model


def ridge(H, Y):
    return np.linalg.solve(H.T @ H + 0.1 * np.eye(NODES), H.T @ Y)


@pytest.fixture(scope="module")
def model(vectors):
    return learned(DSAL(compensation=0.6, nodes=NODES, device="cpu"), vectors[:3])


@pytest.fixture(scope="module")
def A_test(model, vectors):
    return model.extractor_.transform(np.concatenate([task.X_test for task in vectors]))


def literal(model, tasks):
    """Both regressions, solved for afresh after every task from all samples so far."""
    labels = np.array(model.labels)
    seen, left = [], []
    for task in tasks:
        Z = model.extractor_.transform(task.X_train) @ model.layer.weights.astype(float)
        seen.append((Z, (task.y_train[:, None] == labels).astype(float)))
        Zs, Ys = (np.concatenate(parts) for parts in zip(*seen, strict=True))
        main = ridge(np.maximum(Zs, 0), Ys)
        residual = seen[-1][1] - np.maximum(Z, 0) @ main
        for column, label in enumerate(labels):
            if label not in task.classes:
                residual[:, column] = 0
        left.append(residual)
    return main, ridge(np.tanh(Zs), np.concatenate(left))


def test_second_stream_learns_what_the_first_leaves_over(model, vectors, A_test):
    main, second = literal(model, vectors[:3])
    Z = A_test @ model.layer.weights.astype(float)
    expected = np.maximum(Z, 0) @ main + 0.6 * np.tanh(Z) @ second
    np.testing.assert_allclose(model.consolidate().scores(A_test), expected, atol=1e-7)
    assert np.abs(0.6 * np.tanh(Z) @ second).max() > 0.05


def test_without_compensation_it_is_acil(vectors, A_test):
    options = {"nodes": NODES, "device": "cpu"}
    plain, both = ACIL(**options), DSAL(compensation=0.0, **options)
    ours, theirs = (learned(one, vectors[:3]).consolidate().scores(A_test) for one in (plain, both))
    np.testing.assert_array_equal(ours, theirs)


def test_the_order_of_tasks_matters(model, vectors, A_test):
    twin = learned(model.twin(), reversed(vectors[:3]))
    place = [twin.labels.index(label) for label in model.labels]
    difference = model.consolidate().scores(A_test) - twin.consolidate().scores(A_test)[:, place]
    assert 1e-3 < np.abs(difference).max() < 1


def test_residuals_of_a_class_that_comes_again_are_learned(model, vectors):
    before = model.second.weights.copy()
    twin = learned(model.twin(), [*vectors[:3], vectors[0]])
    own = [twin.labels.index(label) for label in vectors[0].classes]
    assert np.abs((twin.second.weights - before)[:, own]).max() > 1e-3


def test_learns_the_digits(vectors):
    model = learned(DSAL(nodes=500, device="cpu"), vectors)
    hits = [model.predict(task.X_test) == task.y_test for task in vectors]
    assert np.mean(np.concatenate(hits)) > 0.95


def test_memory_is_that_of_both_streams(model):
    extractor = sum(value.size for value in model.extractor_.state().values())
    numbers = extractor + 2 * (NODES * (NODES + 1) // 2 + 6 * NODES)
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 0


def test_width_follows_from_the_preset():
    model = METHOD.build(3, "small", device="cpu")
    assert (model.seed, model.preset, model.width) == (3, "small", 2_000)
    assert METHOD.build(3, "best", device="cpu").width == 8_192
