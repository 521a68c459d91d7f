import copy

import numpy as np
import pytest

from clsnet.errors import ClsnetError
from clsnet.methods.fecam import METHOD, FeCAM


def root(A, power):
    return np.sign(A) * np.abs(A) ** power


def unit(x):
    return x / np.linalg.norm(x)


def shrunk(covariance, strength, off_diagonal):
    """Add the mean of the diagonal to it, and the mean of all other places to these."""
    size = len(covariance)
    diagonal = np.eye(size, dtype=bool)
    result = covariance.copy()
    result[diagonal] += strength * covariance[diagonal].mean()
    result[~diagonal] += strength * off_diagonal * covariance[~diagonal].mean()
    return result


def literal(A, y, x, power=0.5, shrinkage=1.0, off_diagonal=1.0):
    """Squared distances, with one covariance matrix after the other."""
    result = []
    for label in sorted(set(y.tolist())):
        own = A[y == label]
        covariance = np.cov(root(own, power).T)
        for _ in range(2):
            covariance = shrunk(covariance, shrinkage, off_diagonal)
        deviations = np.sqrt(np.diag(covariance))
        inverse = np.linalg.inv(covariance / np.outer(deviations, deviations))
        mean = unit(root(own.mean(axis=0), power))
        gaps = [unit(root(sample, power)) - mean for sample in x]
        result.append([gap @ inverse @ gap for gap in gaps])
    return np.array(result).T


def learned(A, y, **options):
    model = FeCAM(device="cpu", **options)
    model.start(A.shape[1])
    model.learn(A, y)
    return model


def distances(model, x):
    return -model.consolidate().scores(x)[:, np.argsort(model.labels)]


@pytest.fixture
def cloud():
    """Makes correlated features of both signs, of three classes."""

    def cloud(n, size):
        random = np.random.RandomState(0)
        y = random.permutation(np.repeat([3, 7, 5], n))
        mixing = random.normal(size=(3, size, size)) / size**0.5
        means = random.normal(size=(3, size))
        noise = random.normal(size=(len(y), size))
        codes = np.searchsorted([3, 5, 7], y)
        return means[codes] + np.einsum("ni,nij->nj", noise, mixing[codes]), y

    return cloud


@pytest.mark.parametrize(("n", "size"), [(60, 8), (5, 30), (9, 8), (2, 6)])
@pytest.mark.parametrize(
    "options", [{}, {"power": 1.0, "off_diagonal": 0.0}, {"shrinkage": 0.2, "off_diagonal": 0.5}]
)
def test_distances_are_those_of_whole_matrices(n, size, options, cloud):
    A, y = cloud(n, size)
    expected = literal(A, y, A[:20], **options)
    np.testing.assert_allclose(distances(learned(A, y, **options), A[:20]), expected, rtol=1e-7)


def test_features_that_vary_against_each_other_have_a_negative_mean_covariance():
    A = np.random.RandomState(0).dirichlet(np.ones(5), 50)[:, 1:]
    y = np.repeat([0, 1], 25)
    assert np.cov(A[:25].T).sum() < np.cov(A[:25].T).trace()
    expected = literal(A, y, A, power=1.0)
    np.testing.assert_allclose(distances(learned(A, y, power=1.0), A), expected, rtol=1e-7)


def test_a_feature_that_is_constant_in_a_class_counts_like_others(cloud):
    A, y = cloud(20, 6)
    A[:, 2] = 1.0
    A[y == 5, 4] = 0.0
    np.testing.assert_allclose(distances(learned(A, y), A), literal(A, y, A), rtol=1e-7)


@pytest.mark.parametrize("size", [8, 40])
def test_samples_may_come_in_parts_and_in_any_order(size, cloud):
    A, y = cloud(30, size)
    model = learned(A[:1], y[:1])
    for rows in (slice(60, None), slice(1, 5), slice(5, 60)):
        model.learn(A[rows], y[rows])
    np.testing.assert_allclose(distances(model, A), distances(learned(A, y), A), rtol=1e-7)


def test_a_class_of_one_sample_has_the_euclidean_distance(cloud):
    A, y = cloud(10, 6)
    model = learned(A, y)
    model.learn(A[:1] + 2, np.array([9]))
    mean = unit(root(A[0] + 2, 0.5))
    expected = [((unit(root(x, 0.5)) - mean) ** 2).sum() for x in A]
    np.testing.assert_allclose(distances(model, A)[:, -1], expected)


def test_few_samples_take_no_matrix_of_the_size_of_a_covariance(cloud):
    A, y = cloud(4, 2_000)
    model = learned(A, y).consolidate()
    assert {factor.shape for factor in model.factors.values()} == {(4, 2_001)}
    assert max(metric.factor.size for metric in model.solution) < 4 * 2_000


def test_what_is_kept_holds_no_sample(cloud):
    A, y = cloud(5, 30)
    A[:, :20] = 0.0  # columns that leave a plain factorisation nothing to mix rows by
    kept = np.concatenate([factor[:, 1:] for factor in learned(A, y).factors.values()])
    samples = root(A, 0.5)
    gaps = np.linalg.norm(kept[:, None] - samples, axis=2).min(axis=1)
    assert (gaps > 0.1 * np.linalg.norm(samples, axis=1).mean()).all()


@pytest.fixture(scope="module")
def model(tasks):
    model = FeCAM(device="cpu")
    for task in tasks[:3]:
        model.partial_fit(task.X_train, task.y_train)
    return model


def test_learns_the_digits(model, tasks):
    hits = [model.predict(task.X_test) == task.y_test for task in tasks[:3]]
    assert np.mean(np.concatenate(hits)) > 0.97


def test_memory_is_extractor_sums_counts_and_what_is_above_the_diagonals(model):
    extractor = sum(value.size for value in model.extractor_.state().values())
    size = model.extractor_.dimension
    factors = sum(n * (size + 1) - n * (n - 1) // 2 for n in model.counts.values())
    assert model.memory().model_mb == 4 * (extractor + 6 * size + 6 + factors) / 2**20
    assert model.memory().exemplar_mb == 0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"power": 0}, "power=0: use a number above 0."),
        ({"shrinkage": -1.0}, "shrinkage=-1.0: use a number above 0."),
        ({"off_diagonal": 1.5}, "off_diagonal=1.5: use a number from 0 to 1."),
    ],
)
def test_options_without_a_meaning_are_refused(options, reason):
    with pytest.raises(ClsnetError) as caught:
        FeCAM(device="cpu", **options).check_parameters()
    assert str(caught.value) == reason


def test_a_copy_is_as_good(model, tasks):
    X = tasks[0].X_test
    np.testing.assert_array_equal(copy.deepcopy(model).predict(X), model.predict(X))


def test_method_hands_over_seed_and_preset():
    model = METHOD.build(3, "small", device="cpu")
    assert (model.seed, model.preset) == (3, "small")
