import numpy as np
import pytest

from clsnet.errors import ClsnetError
from clsnet.methods.klda import KLDA, METHOD

SMALL = {"nodes": 40, "n_models": 3, "gamma": 0.01, "ridge": 0.01, "device": "cpu"}


@pytest.fixture(scope="module")
def model(vectors):
    model = KLDA(**SMALL)
    for task in vectors[:3]:
        model.partial_fit(task.X_train, task.y_train)
    return model


@pytest.fixture(scope="module")
def labels(vectors):
    return np.concatenate([task.y_train for task in vectors[:3]])


def features(model, vectors, part="X_train"):
    X = np.concatenate([getattr(task, part) for task in vectors[:3]])
    return model.extractor_.transform(X)


def literal(model, A, y, x):
    """The sum over models of the softmax of negative distances, sample by sample."""
    classes = sorted(set(y.tolist()))
    total = np.zeros((len(x), len(classes)))
    for number in range(model.n_models):
        Z, z = model.expand(A, number), model.expand(x, number)
        means = [Z[y == c].mean(axis=0) for c in classes]
        scatter = np.zeros((model.nodes, model.nodes))
        for sample, label in zip(Z, y, strict=True):
            gap = sample - means[classes.index(label)]
            scatter += np.outer(gap, gap)
        inverse = np.linalg.inv(scatter + model.ridge * np.eye(model.nodes))
        for i, sample in enumerate(z):
            scores = np.array([-(sample - m) @ inverse @ (sample - m) for m in means])
            total[i] += np.exp(scores) / np.exp(scores).sum()
    return total


def test_scores_are_the_votes_of_discriminant_analyses(model, vectors, labels):
    A = features(model, vectors)
    expected = literal(model, A, labels, A[::40])
    np.testing.assert_allclose(model.consolidate().scores(A[::40]), expected, rtol=1e-6)


def test_the_scatter_of_a_class_that_comes_back_is_exact(model, vectors, labels):
    A = features(model, vectors)
    twin = model.twin()
    for part in np.array_split(np.random.RandomState(0).permutation(len(A)), 4):
        twin.learn(A[part], labels[part])
    expected = literal(model, A, labels, A[::40])
    np.testing.assert_allclose(twin.consolidate().scores(A[::40]), expected, rtol=1e-6)


def test_products_of_fourier_features_approximate_the_kernel(vectors):
    model = KLDA(**{**SMALL, "nodes": 20_000, "gamma": 0.3, "n_models": 2})
    model.start(5)
    x = np.random.RandomState(0).normal(size=(6, 5))
    kernel = np.exp(-0.3 * ((x[:, None] - x) ** 2).sum(axis=2))
    maps = [model.expand(x, number) for number in range(2)]
    for z in maps:
        np.testing.assert_allclose(z @ z.T, kernel, atol=0.03)
    assert not np.allclose(maps[0], maps[1], atol=1e-3)


def test_learns_the_digits(tasks):
    model = KLDA(nodes=400, n_models=2, device="cpu")
    for task in tasks[:3]:
        model.partial_fit(task.X_train, task.y_train)
    hits = [model.predict(task.X_test) == task.y_test for task in tasks[:3]]
    assert np.mean(np.concatenate(hits)) > 0.97


def test_one_class_and_one_sample_a_class_are_learned(vectors):
    model = KLDA(**SMALL)
    first, second = vectors[:2]
    alone = first.y_train == first.classes[0]
    model.partial_fit(first.X_train[alone], first.y_train[alone])
    assert set(model.predict(first.X_test).tolist()) == {first.classes[0]}
    rows = [np.flatnonzero(second.y_train == label)[0] for label in second.classes]
    model.partial_fit(second.X_train[rows], second.y_train[rows])
    np.testing.assert_array_equal(model.predict(second.X_train[rows]), second.y_train[rows])


def test_memory_is_extractor_triangles_sums_and_counts(model):
    extractor = sum(value.size for value in model.extractor_.state().values())
    numbers = extractor + 3 * (40 * 41 // 2 + 6 * 40) + 6
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 0


@pytest.mark.parametrize("name", ["gamma", "ridge", "nodes", "n_models"])
def test_options_without_a_meaning_are_refused(name):
    with pytest.raises(ClsnetError, match=f"{name}=0: use a number above 0."):
        KLDA(device="cpu", **{name: 0}).check_parameters()


def test_method_hands_over_seed_and_preset():
    model = METHOD.build(3, "small", device="cpu")
    assert (model.seed, model.preset, model.nodes, model.n_models) == (3, "small", 5_000, 5)
