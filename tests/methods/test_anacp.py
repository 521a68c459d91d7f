import math

import numpy as np
import pytest

from clsnet.errors import ClsnetError
from clsnet.methods.anacp import METHOD, AnaCP, pushed_apart

SMALL = {"nodes": 50, "ridge": 3.0, "shrinkage": 1e-3, "device": "cpu"}


@pytest.fixture(scope="module")
def model():
    return learned(*cloud())


def cloud(size=12):
    random = np.random.RandomState(0)
    y = random.permutation(np.repeat([3, 7, 5, 9], 40))
    means = random.normal(size=(10, size))
    return means[y] + 0.5 * random.normal(size=(len(y), size)), y


def learned(A, y, **options):
    model = AnaCP(**{**SMALL, **options})
    model.start(A.shape[1])
    model.learn(A, y)
    return model


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def gelu(values):
    halves = np.vectorize(math.erf)(values / 2**0.5) / 2
    return values * (0.5 + halves)


def literal_targets(means, covariance):
    """The released code's steps, without the singular value that is zero."""
    values, vectors = np.linalg.eigh(covariance)
    whitening = vectors @ np.diag(values**-0.5) @ vectors.T
    centre = means.mean(axis=0)
    U, S, Vt = np.linalg.svd((means - centre) @ whitening, full_matrices=False)
    rank = min(len(means) - 1, means.shape[1])
    spread = U[:, :rank] @ np.diag(S[:rank] + 1) @ Vt[:rank]
    return unit(spread @ whitening + centre)


def ridge_regression(H, Y, ridge):
    return np.linalg.solve(H.T @ H + ridge * np.eye(H.shape[1]), H.T @ Y)


def literal(model, A, y, x):
    classes = sorted(set(y.tolist()))
    codes = np.searchsorted(classes, y)
    A, x = unit(A), unit(x)
    means = np.array([A[y == c].mean(axis=0) for c in classes])
    gaps = A - means[codes]
    covariance = gaps.T @ gaps / len(A) + model.shrinkage * np.eye(A.shape[1])
    targets = literal_targets(means, covariance)
    noise = np.random.default_rng(model.seed).standard_normal(
        (len(classes) * model.n_samples, A.shape[1]), dtype=np.float32
    )
    drawn = noise.astype(float) @ np.linalg.cholesky(covariance).T
    drawn += np.repeat(means, model.n_samples, axis=0)
    seen = []
    for rows in (drawn, x):
        outputs = np.zeros((len(rows), A.shape[1]))
        for head in model.heads:
            W = head.weights.astype(float)
            theta = ridge_regression(gelu(A @ W), targets[codes], model.ridge)
            outputs += unit(gelu(rows @ W) @ theta) / model.n_heads
        seen.append(gelu(outputs @ model.second.weights.astype(float)))
    one_hot = np.repeat(np.eye(len(classes)), model.n_samples, axis=0)
    return seen[1] @ ridge_regression(seen[0], one_hot, model.ridge)


def test_scores_are_those_of_the_steps_one_by_one(model):
    A, y = cloud()
    expected = literal(model, A, y, A[:30])
    found = model.consolidate().scores(A[:30])
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("n_classes", [2, 4, 7, 8])
def test_targets_are_means_with_larger_singular_values(n_classes):
    random = np.random.RandomState(n_classes)
    means = random.normal(size=(n_classes, 7))
    rows = random.normal(size=(30, 7))
    covariance = rows.T @ rows / 30
    found = pushed_apart(means, np.linalg.cholesky(covariance))
    np.testing.assert_allclose(found, literal_targets(means, covariance), atol=1e-8)


def test_the_target_of_a_single_class_is_its_mean():
    means = np.array([[3.0, 4.0]])
    np.testing.assert_allclose(pushed_apart(means, np.eye(2)), [[0.6, 0.8]])


def test_targets_of_classes_alike_are_alike():
    means = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    found = pushed_apart(means, np.eye(3))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


def test_samples_have_the_means_and_the_covariance_and_follow_from_the_seed():
    A, y = cloud(3)
    first, same, other = (learned(A, y, seed=seed, n_samples=20_000) for seed in (1, 1, 2))
    means = np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 0.5]])
    covariance = np.array([[1.0, 0.3, 0.0], [0.3, 0.5, 0.1], [0.0, 0.1, 0.2]])
    lower = np.linalg.cholesky(covariance)
    x, classes = first.drawn(means, lower)
    for code in (0, 1):
        own = x[classes[:, code] == 1]
        assert len(own) == 20_000
        np.testing.assert_allclose(own.mean(axis=0), means[code], atol=0.03)
        np.testing.assert_allclose(np.cov(own.T), covariance, atol=0.03)
    assert np.array_equal(x, same.drawn(means, lower)[0])
    assert not np.array_equal(x, other.drawn(means, lower)[0])


def test_order_and_division_into_tasks_do_not_matter(model):
    A, y = cloud()
    twin = learned(A[y > 5], y[y > 5])
    old = np.flatnonzero(y <= 5)
    for rows in (old[50:], old[:50]):
        twin.consolidate()
        twin.learn(A[rows], y[rows])
        twin.solution = None
    expected = model.consolidate().scores(A)
    found = twin.consolidate().scores(A)
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())


def test_learns_the_digits(tasks):
    model = AnaCP(nodes=400, device="cpu")
    for task in tasks[:3]:
        model.partial_fit(task.X_train, task.y_train)
    hits = [model.predict(task.X_test) == task.y_test for task in tasks[:3]]
    assert np.mean(np.concatenate(hits)) > 0.97


def test_one_class_and_one_sample_a_class_are_learned(vectors):
    model = AnaCP(**SMALL)
    first, second = vectors[:2]
    alone = first.y_train == first.classes[0]
    model.partial_fit(first.X_train[alone], first.y_train[alone])
    assert set(model.predict(first.X_test).tolist()) == {first.classes[0]}
    rows = [np.flatnonzero(second.y_train == label)[0] for label in second.classes]
    model.partial_fit(second.X_train[rows], second.y_train[rows])
    assert set(model.predict(first.X_test).tolist()) <= {first.classes[0], *second.classes}


def test_memory_is_extractor_triangles_sums_and_counts(vectors):
    model = AnaCP(**SMALL).partial_fit(vectors[0].X_train, vectors[0].y_train)
    extractor = sum(value.size for value in model.extractor_.state().values())
    widths = [model.extractor_.dimension, 50, 50, 50]
    numbers = extractor + sum(width * (width + 1) // 2 + 2 * width for width in widths) + 2
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 0


@pytest.mark.parametrize("name", ["nodes", "ridge", "shrinkage", "n_heads", "n_samples"])
def test_options_without_a_meaning_are_refused(name):
    with pytest.raises(ClsnetError, match=f"{name}=0: use a number above 0."):
        AnaCP(device="cpu", **{name: 0}).check_parameters()


def test_a_shrinkage_that_rounding_swallows_is_refused():
    A, y = cloud()
    model = learned(np.hstack([A, A]), y, shrinkage=1e-300)
    with pytest.raises(ClsnetError, match=r"shrinkage=1e-300: too small here; use a larger one\."):
        model.consolidate()


def test_method_hands_over_seed_and_preset():
    model = METHOD.build(3, "small", device="cpu")
    assert (model.seed, model.preset, model.nodes, model.n_heads) == (3, "small", 5_000, 3)
