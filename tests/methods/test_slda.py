import numpy as np
import pytest

from clsnet.methods.common.closed_form import gaussian
from clsnet.methods.slda import METHOD, SLDA


@pytest.fixture(scope="module")
def model(vectors):
    model = SLDA(shrinkage=0.02, device="cpu")
    for task in vectors[:3]:
        model.partial_fit(task.X_train, task.y_train)
    return model


@pytest.fixture(scope="module")
def features(model, vectors):
    X = np.concatenate([task.X_train for task in vectors[:3]])
    return model.extractor_.transform(X).astype(float)


@pytest.fixture(scope="module")
def labels(vectors):
    return np.concatenate([task.y_train for task in vectors[:3]])


def literal(A, y):
    """Class means, and the mean over samples of the outer product of deviations from them."""
    classes = sorted(set(y.tolist()))
    means = np.array([A[y == c].mean(axis=0) for c in classes])
    deviations = A - means[np.searchsorted(classes, y)]
    return means, deviations.T @ deviations / len(y)


def test_covariance_is_the_pooled_one(model, features, labels):
    means, covariance = literal(features, labels)
    found_means, found_covariance = gaussian(model.sums)
    np.testing.assert_allclose(found_means, means, rtol=1e-5, atol=1e-5)
    tolerance = 1e-5 * np.abs(covariance).max()
    np.testing.assert_allclose(found_covariance, covariance, atol=tolerance)


def test_scores_are_shrunk_linear_discriminants(model, features, labels):
    means, covariance = literal(features, labels)
    shrunk = 0.98 * covariance + 0.02 * np.eye(len(covariance))
    x = features[::40]
    expected = np.empty((len(x), len(means)))
    for c, mean in enumerate(means):
        weights = np.linalg.solve(shrunk, mean)
        expected[:, c] = x @ weights - mean @ weights / 2
    found = model.consolidate().scores(x)
    # a constant per sample decides nothing
    expected -= expected.mean(axis=1, keepdims=True)
    found -= found.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


def test_learns_the_digits(model, vectors):
    hits = [model.predict(task.X_test) == task.y_test for task in vectors[:3]]
    assert np.mean(np.concatenate(hits)) > 0.95


def test_memory_is_extractor_triangle_sums_and_counts(model):
    extractor = sum(value.size for value in model.extractor_.state().values())
    size = model.extractor_.dimension
    numbers = extractor + size * (size + 1) // 2 + 6 * size + 6
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 0


def test_method_hands_over_seed_and_preset():
    model = METHOD.build(3, "small", device="cpu")
    assert (model.seed, model.preset) == (3, "small")
