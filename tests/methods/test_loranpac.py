import tracemalloc

import numpy as np
import pytest

from clsnet.errors import ClsnetError
from clsnet.methods.loranpac import METHOD, LoRanPAC

NODES, RANK = 300, 40


def learned(model, tasks):
    for task in tasks:
        model.partial_fit(task.X_train, task.y_train)
    return model


def expanded(model, X):
    return np.maximum(model.extractor_.transform(X) @ model.layer.weights.astype(float), 0)


@pytest.fixture(scope="module")
def model(vectors):
    return learned(LoRanPAC(nodes=NODES, rank=RANK, device="cpu"), vectors[:3])


@pytest.fixture(scope="module")
def X_test(vectors):
    return np.concatenate([task.X_test for task in vectors])


def literal(model, tasks, cut=0.25):
    """A whole singular value decomposition after every block; then the pseudo-inverse."""
    kept, n, cross = np.zeros((model.width, 0)), 0, 0
    for task in tasks:
        H = expanded(model, task.X_train)
        Y = (task.y_train[:, None] == np.array(model.labels)).astype(float)
        cross = cross + H.T @ Y
        for start in range(0, len(H), model.n_directions):
            block = H[start : start + model.n_directions]
            n += len(block)
            U, s, _ = np.linalg.svd(np.hstack([kept, block.T]), full_matrices=False)
            left = min(round((1 - cut) * min(n, model.width)), model.n_directions)
            kept = (U * s)[:, :left]
    return np.linalg.pinv(kept @ kept.T, rcond=1e-12, hermitian=True) @ cross


@pytest.mark.parametrize(("nodes", "rank"), [(NODES, RANK), (NODES, 1000), (700, 600), (50, 45)])
def test_weights_are_least_squares_within_a_truncated_decomposition(vectors, nodes, rank):
    model = learned(LoRanPAC(nodes=nodes, rank=rank, device="cpu"), vectors[:3])
    expected = literal(model, vectors[:3])
    tolerance = 1e-7 * np.abs(expected).max()
    np.testing.assert_allclose(model.consolidate().solution, expected, atol=tolerance)


def test_with_nothing_cut_off_it_is_least_squares_of_least_norm(vectors):
    model = LoRanPAC(nodes=600, rank=5000, cut=0.0, device="cpu")
    few = [(task.X_train[:60], task.y_train[:60]) for task in vectors[:3]]
    for X, y in few:
        model.partial_fit(X, y)
    X, y = (np.concatenate(parts) for parts in zip(*few, strict=True))
    Y = (y[:, None] == np.array(model.labels)).astype(float)
    expected, *_ = np.linalg.lstsq(expanded(model, X), Y)
    np.testing.assert_allclose(model.consolidate().solution, expected, atol=1e-7)


def test_the_basis_stays_orthonormal(model):
    assert model.basis.shape == (NODES, RANK)
    np.testing.assert_allclose(model.basis.T @ model.basis, np.eye(RANK), atol=1e-12)


def test_a_quarter_is_cut_off_while_there_are_few_samples(vectors):
    model = LoRanPAC(nodes=NODES, rank=1000, device="cpu")
    model.partial_fit(vectors[0].X_train[:80], vectors[0].y_train[:80])
    assert model.basis.shape == (NODES, 60)


def test_repeated_samples_do_no_harm(vectors, X_test):
    options = {"nodes": NODES, "rank": 200, "cut": 0.0, "device": "cpu"}
    X, y = vectors[0].X_train[:50], vectors[0].y_train[:50]
    once = LoRanPAC(**options).partial_fit(X, y)
    thrice = once.twin().partial_fit(np.tile(X, (3, 1)), np.tile(y, 3))
    A = once.extractor_.transform(X_test)
    ours, theirs = (one.consolidate().scores(A) for one in (once, thrice))
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2])
def test_few_samples_at_a_time_are_learned(vectors, n):
    model = LoRanPAC(nodes=NODES, rank=RANK, device="cpu")
    model.partial_fit(vectors[0].X_train, vectors[0].y_train)
    for start in range(0, 6, n):
        rows = slice(start, start + n)
        model.partial_fit(vectors[1].X_train[rows], vectors[1].y_train[rows])
    assert model.predict(vectors[0].X_test).shape == vectors[0].y_test.shape


def test_memory_while_learning_does_not_grow_with_the_task(vectors):
    X = np.concatenate([task.X_train for task in vectors])
    y = np.concatenate([task.y_train for task in vectors])
    model = LoRanPAC(nodes=6000, rank=20, backbone="identity", connection="Z", device="cpu")
    model.partial_fit(X[:20], y[:20])
    whole = len(X) * 6000 * 8
    tracemalloc.start()
    model.partial_fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < whole / 4


def test_single_precision_answers_as_double_precision_does(tasks):
    model = learned(LoRanPAC(nodes=NODES, rank=100, device="cpu"), tasks[:3])
    assert model.basis.dtype == np.float32
    A = model.extractor_.transform(np.concatenate([task.X_test for task in tasks[:3]]))
    expected = np.maximum(A @ model.layer.weights.astype(float), 0) @ literal(model, tasks[:3])
    np.testing.assert_allclose(model.consolidate().scores(A), expected, atol=0.01)


def test_learns_the_digits(vectors):
    model = learned(LoRanPAC(nodes=1000, rank=200, device="cpu"), vectors)
    hits = [model.predict(task.X_test) == task.y_test for task in vectors]
    assert np.mean(np.concatenate(hits)) > 0.95


def test_a_twin_shares_extractor_and_random_layer_and_nothing_else(model, vectors):
    twin = model.twin().partial_fit(vectors[3].X_train, vectors[3].y_train)
    assert twin.extractor_ is model.extractor_
    assert np.array_equal(twin.layer.weights, model.layer.weights)
    assert twin.labels == sorted(vectors[3].classes)
    assert len(model.labels) == 6


def test_memory_is_extractor_basis_values_and_sums(model):
    extractor = sum(value.size for value in model.extractor_.state().values())
    numbers = extractor + NODES * RANK + RANK + 6 * NODES
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 0


@pytest.mark.parametrize("option", ["nodes", "rank"])
def test_an_option_that_is_not_above_zero_is_refused(option):
    with pytest.raises(ClsnetError, match=rf"{option}=0: use a number above 0\."):
        LoRanPAC(device="cpu", **{option: 0}).check_parameters()


def test_widths_follow_from_the_preset():
    model = METHOD.build(3, "small", device="cpu")
    assert (model.seed, model.width, model.n_directions) == (3, 5_000, 1_000)
    best = METHOD.build(3, "best", device="cpu")
    assert (best.width, best.n_directions) == (100_000, 10_000)
