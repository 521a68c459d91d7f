"""The ridge for accuracy: moments of scores, the error rate to expect, and what is chosen by it."""

from itertools import permutations

import numpy as np
import pytest
import torch
from scipy.stats import norm
from sklearn.datasets import load_digits

from clsnet.arrays.devices import to_device
from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.ridge.error_curve import GRID, ErrorCurve
from clsnet.classifier.ridge.error_rate import ScoreMoments, expected_error_rate
from clsnet.classifier.ridge.factor import Factor
from clsnet.classifier.ridge.normal_equations import NormalEquations
from clsnet.classifier.ridge.rule import regress
from clsnet.classifier.ridge.spectrum import Spectrum
from clsnet.classifier.rule import Rule


def digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    random = np.random.RandomState(0)
    nodes = np.maximum(X / 16 @ random.standard_normal((64, 300)) + random.uniform(-1, 1, 300), 0)
    return np.concatenate([X / 16, nodes, np.ones((len(X), 1))], axis=1), y


def hard_classes(seed: int, n_each: int, n_classes: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Classes that differ in many directions of little variance, and overlap."""
    random, fixed = np.random.RandomState(seed), np.random.RandomState(1)
    scale = np.arange(1, 201) ** -0.7
    means = 0.02 * fixed.standard_normal((n_classes, 200)) * scale**0.5
    lumps = 0.3 * fixed.standard_normal((3, n_classes, 200)) * scale
    y = np.repeat(np.arange(n_classes), n_each)
    samples = means[y] + lumps[random.randint(3, size=len(y)), y]
    return samples + random.standard_normal(samples.shape) * scale, y


def equations_of(A: np.ndarray, y: np.ndarray) -> NormalEquations:
    Y = np.eye(y.max() + 1)[y]
    return NormalEquations(A.T @ A, A.T @ Y, len(y), counts=Y.sum(axis=0))


def literal_moments(A: np.ndarray, y: np.ndarray, ridge: float) -> ScoreMoments:
    Y = np.eye(y.max() + 1)[y]
    H = A @ np.linalg.solve(A.T @ A + ridge * np.eye(A.shape[1]), A.T)
    S = H @ Y
    return ScoreMoments(Y.T @ S, S.T @ S, np.trace(H), np.trace(H @ H))


def assert_same(one: ScoreMoments, other: ScoreMoments, tolerance: float) -> None:
    np.testing.assert_allclose(one.sums, other.sums, rtol=0, atol=tolerance * other.sums.max())
    largest = other.squares.max()
    np.testing.assert_allclose(one.squares, other.squares, rtol=0, atol=tolerance * largest)


@pytest.mark.parametrize("ridge", [1e-3, 1.0, 100.0])
def test_moments_by_the_spectrum_are_those_of_the_samples(ridge: float) -> None:
    A, y = digits()
    A, y = A[:120], y[:120]
    literal = literal_moments(A, y, ridge)
    found = Spectrum(A, A.T @ np.eye(10)[y]).moments(ridge)
    assert_same(found, literal, 1e-8)
    assert found.df == pytest.approx(literal.df)
    assert found.df_of_noise == pytest.approx(literal.df_of_noise)


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu")])
def test_moments_by_a_factor_are_those_of_the_samples(device: object) -> None:
    A, y = digits()
    known = equations_of(A, y)
    base, cross = to_device(known.base, device), to_device(known.cross, device)
    known = NormalEquations(base, cross, len(y), counts=known.counts)
    ridge = 1e-3 * known.scale
    literal = literal_moments(A, y, ridge)
    for factor in (None, Factor.of(base, ridge), Factor.of(base, 2 * ridge)):
        found = known.score_moments(ridge, factor)
        assert found is not None
        assert_same(found, literal, 1e-9)
        assert found.df == pytest.approx(literal.df, rel=0.05)  # by the Hutchinson estimator
        assert found.df_of_noise == pytest.approx(literal.df_of_noise, rel=0.05)


def test_moments_by_a_kept_factor_with_new_rows_are_those_of_all_samples() -> None:
    A, y = digits()
    old = equations_of(A[:-20], y[:-20])
    ridge = 1e-3 * old.scale
    factor = Factor.of(old.gram, ridge)
    assert factor is not None
    extended = factor.extended(A[-20:])
    assert extended is not None
    known = equations_of(A, y)
    curve = ErrorCurve(known, extended)
    for other in (ridge, 1.02 * ridge, ridge / 10**0.5):
        found, literal = curve.moments(other), literal_moments(A, y, other)
        assert_same(found, literal, 1e-4)
        assert found.df == pytest.approx(literal.df, rel=0.05)
        assert found.df_of_noise == pytest.approx(literal.df_of_noise, rel=0.05)


def test_left_out_scores_are_those_of_models_without_the_sample_on_average() -> None:
    A, y = digits()
    A, y, ridge = A[:80, :70], y[:80], 5.0
    means, _ = literal_moments(A, y, ridge).left_out(np.bincount(y))
    Y = np.eye(10)[y]
    left = []
    for i in range(len(A)):
        others = np.arange(len(A)) != i
        gram = A[others].T @ A[others] + ridge * np.eye(A.shape[1])
        left.append(A[i] @ np.linalg.solve(gram, A[others].T @ Y[others]))
    literal = Y.T @ np.array(left) / Y.sum(axis=0)[:, None]
    assert abs(np.diagonal(means) - np.diagonal(literal)).max() < 0.05
    assert abs(means - literal).max() < 0.05


def test_two_classes_of_even_variance_err_as_gaussians_do() -> None:
    """Without variance beyond the noise of the weights there is a formula."""
    counts = np.array([500.0, 500.0])
    means, within = np.array([[0.7, 0.3], [0.3, 0.7]]), np.array([[0.04, -0.02], [-0.02, 0.04]])
    sums = counts[:, None] * means
    squares = 1000 * within + sums.T @ means
    rate = expected_error_rate(ScoreMoments(sums, squares, 0.0, 1000.0), counts)
    assert rate == pytest.approx(norm.sf(0.4 / np.sqrt(0.04 + 0.04 + 2 * 0.02)), abs=1e-3)


def test_the_order_of_classes_does_not_matter() -> None:
    A, y = hard_classes(0, 5)
    y = y % 4
    rates = []
    for order in permutations(range(4)):
        moments = literal_moments(A, np.array(order)[y], 3.0)
        rates.append(expected_error_rate(moments, np.bincount(np.array(order)[y])))
    assert np.ptp(rates) < 1e-12


def test_the_expected_rate_falls_and_rises_with_the_measured_one() -> None:
    A, y = hard_classes(0, 40)
    tested, labels = hard_classes(7, 40)
    known = equations_of(A, y)
    expected, measured = [], []
    for power in range(-4, 2):
        ridge = 10.0**power * known.scale
        expected.append(expected_error_rate(literal_moments(A, y, ridge), known.counts))
        omega = np.linalg.solve(known.gram + ridge * np.eye(len(known.gram)), known.cross)
        measured.append(float(((tested @ omega).argmax(axis=1) != labels).mean()))
    assert np.corrcoef(expected, measured)[0, 1] > 0.95


@pytest.mark.parametrize("seed", [0, 3])
def test_hard_classes_are_told_apart_better_than_with_the_least_squared_error(seed: int) -> None:
    A, y = hard_classes(seed, 30, n_classes=200)
    tested, labels = hard_classes(seed + 10, 50, n_classes=200)
    known = equations_of(A, y)

    def accuracy(ridge: float | str) -> float:
        return float(((tested @ regress(known, ridge).omega).argmax(axis=1) == labels).mean())

    assert accuracy("auto") > accuracy("gcv") + 0.01


@pytest.mark.parametrize(("n_each", "gain"), [(3, 0.003), (5, 0.005), (10, 0.0), (100, 0.0)])
def test_few_samples_are_not_fitted_as_closely_as_luck_suggests(n_each: int, gain: float) -> None:
    A, y = digits()
    right = []
    for seed in range(8):
        order = np.random.RandomState(seed).permutation(len(y))
        rows = np.concatenate([order[y[order] == label][:n_each] for label in range(10)])
        known, others = equations_of(A[rows], y[rows]), np.setdiff1d(np.arange(len(y)), rows)
        found = [regress(known, rule) for rule in ("auto", "gcv")]
        right.append([((A[others] @ r.omega).argmax(1) == y[others]).mean() for r in found])
        assert found[0].df < max(0.63 * len(rows), found[1].df + 1e-9)
    auto, gcv = np.mean(right, axis=0)
    assert auto >= gcv + gain - 1e-9


@pytest.mark.parametrize(
    ("n_each", "seed", "lowered"), [(8, 0, 1), (8, 2, 0), (11, 0, 2), (25, 0, 2), (60, 0, 0)]
)
def test_the_ridge_is_lowered_as_far_as_the_text_says(n_each: int, seed: int, lowered: int) -> None:
    A, y = hard_classes(seed, n_each)
    known = equations_of(A, y)
    start = np.argmin(abs(np.log(GRID) - np.log(regress(known, "gcv").ridge / known.scale)))
    rates = [expected_error_rate(literal_moments(A, y, GRID[start] * known.scale), known.counts)]
    for value in reversed(GRID[:start]):
        rate = expected_error_rate(literal_moments(A, y, value * known.scale), known.counts)
        if rate >= rates[-1]:
            break
        rates.append(rate)
    least = rates[-1]
    error = np.sqrt(least / (3 * len(y)))  # two ridges disagree on a third of the errors
    surely = next(i for i, rate in enumerate(rates) if rate <= least + 3 * error)
    likely = next(i for i, rate in enumerate(rates) if rate <= least + error)
    ample = len(y) > 2 * A.shape[1]
    steps = surely or (likely if ample else 0)
    steps += 1 if steps and ample else 0
    assert steps == lowered
    assert regress(known, "auto").ridge == pytest.approx(GRID[start - steps] * known.scale)


def test_large_and_small_paths_choose_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    A, y = hard_classes(0, 60)
    A = np.concatenate(
        [A, np.maximum(A @ np.random.RandomState(3).standard_normal((200, 800)), 0)], 1
    )
    assert equations_of(A, y).spectrum is not None
    direct = regress(equations_of(A, y)).ridge
    monkeypatch.setattr("clsnet.classifier.ridge.normal_equations.DIRECT", 0)
    assert equations_of(A, y).spectrum is None
    assert regress(equations_of(A, y)).ridge == direct


def test_the_choice_is_the_same_in_any_order_of_tasks() -> None:
    A, y = hard_classes(0, 30)
    found = []
    for order in ([0, 1, 2], [2, 0, 1]):
        model = AnalyticClassifier(Rule(), dimension=A.shape[1], device="cpu")
        for task in order:
            rows = y % 3 == task
            model = model.learn(lambda rows=rows: [(A[rows], y[rows])])
        columns = np.argsort(model.labels)
        found.append(model.omega[:, columns])
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-10)


def test_one_class_and_unknown_counts_take_the_least_squared_error() -> None:
    A, y = digits()
    alone = equations_of(A[:50], np.zeros(50, int))
    assert regress(alone, "auto").ridge == regress(alone, "gcv").ridge
    known = equations_of(A, y)
    unknown = NormalEquations(known.base, known.cross, known.n_samples)
    assert regress(unknown, "auto").ridge == regress(known, "gcv").ridge
