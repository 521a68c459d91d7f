"""Columns standardised from sums against a scaler and ridge regression on all samples."""

from dataclasses import replace

import numpy as np
import pytest

from clsnet import ClsnetError
from clsnet.arrays.devices import to_device, to_numpy
from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.forgetting import Decay
from clsnet.classifier.ridge.error_curve import GRID
from clsnet.classifier.ridge.error_rate import ScoreMoments
from clsnet.classifier.ridge.normal_equations import NormalEquations
from clsnet.classifier.ridge.reference import ridge_regression
from clsnet.classifier.ridge.rule import regress
from clsnet.classifier.ridge.standardised import (
    CAUTION,
    FAINT,
    LEAST_RIDGE,
    ROUNDING,
    Standardised,
)
from clsnet.classifier.rule import Rule
from tests.literal import one_hot

N_CLASSES = 3
SHAPES = {
    "many": (400, 30),
    "few": (40, 500),
    "as many as columns": (150, 160),
    "wide": (1300, 1020),
}


def data(shape, seed=0):
    """Columns of scales from 1e-6 to 1e6, far from zero, one of them constant, one of them dead."""
    n, d = SHAPES[shape]
    random = np.random.default_rng(seed)
    y = random.integers(0, N_CLASSES, n)
    A = random.standard_normal((n, d)) + 0.7 * (random.standard_normal((N_CLASSES, d)))[y]
    A = (A + 3 * random.standard_normal(d)) * 10.0 ** random.uniform(-6, 6, d)
    A[:, 3], A[:, 5], A[:, 7] = 1.0, 12345.678, 0.0
    return A, y


def literal(A, Y, relative, weights=None):
    """A scaler and ridge regression with an intercept that is not penalised, step by step.

    Returns the weights of A, whose column 3 is constant, the left-out error over N, and degrees of
    freedom.
    """
    weights = np.ones(len(A)) if weights is None else weights
    n = weights.sum()
    mean, targets = weights @ A / n, weights @ Y / n
    variance = weights @ (A - mean) ** 2 / n
    square = weights @ A**2 / n
    moving = variance > ROUNDING * square
    known = 1 - ROUNDING * square / np.where(moving, variance, 1.0)
    deviation = np.sqrt((variance + FAINT * square) / np.where(moving, known, 1.0))
    scaled = np.where(moving, (A - mean) / np.where(moving, deviation, 1.0), 0.0)
    scale = (weights[:, None] * scaled**2).sum(axis=0).mean()
    [omega], _ = ridge_regression(scaled, Y - targets, [relative * scale], weights)
    residual = (weights[:, None] * (Y - targets - scaled @ omega) ** 2).sum()
    root = np.sqrt(weights)[:, None] * scaled
    values = np.linalg.svd(root, compute_uv=False) ** 2
    df = (values / (values + relative * scale)).sum()
    left = n - 1 - CAUTION * df
    omega = np.where(moving[:, None], omega / np.where(moving, deviation, 1.0)[:, None], 0.0)
    omega[3] = targets - mean @ omega
    told = residual > 1e-9 * n and left >= 0.01 * n
    return omega, residual / left**2 if told else np.inf, df + 1


def scores_agree(A, found, expected, tolerance=1e-7):
    one, two = A @ to_numpy(found), A @ expected
    np.testing.assert_allclose(one, two, rtol=0, atol=tolerance * abs(two).max())


def taught(A, y, cuts, device="cpu", **options):
    model = AnalyticClassifier(Rule(**options), A.shape[1], device, intercept=3)
    for rows in np.split(np.arange(len(y)), cuts):
        model = model.learn(lambda rows=rows: [(to_device(A[rows], device), y[rows])])
    return model


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("relative", [1e-3, 1.0])
def test_weights_are_those_of_a_scaler_and_ridge_regression(shape, relative, device):
    A, y = data(shape)
    model = taught(A, y, [len(y) // 3, len(y) - 5], device, ridge=relative)
    expected, _, _ = literal(A, one_hot(y, model.labels), relative)
    scores_agree(A, model.omega, expected)


@pytest.mark.parametrize("still", [[], [0], [1, 2]])
def test_nodes_that_see_a_constant_column_have_no_influence(still, device):
    random = np.random.default_rng(0)
    A = random.standard_normal((50, 8)) * [1e-9, 1.0, 1e7, 1.0, 1e-7, 0.01, 0.5, 0.0]
    A[:, still], A[:, -1] = 3.0, 1.0
    seen = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 0]], bool)  # by columns 4 to 6
    Y = one_hot(random.integers(0, 2, 50), [0, 1])
    equations = NormalEquations(to_device(A.T @ A, device), to_device(A.T @ Y, device), 50)
    plain = to_numpy(Standardised.of(equations, 7).factor)
    found = to_numpy(Standardised.of(equations, 7, to_device(seen, device)).factor)
    kept = [4 + node for node in range(3) if not seen[still, node].any()]
    np.testing.assert_array_equal(found[:4], plain[:4])
    np.testing.assert_array_equal(found[kept], plain[kept])
    assert np.count_nonzero(found[4:7]) == len(kept)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("constant", [1.0, 0.1])
def test_what_is_known_of_the_scores_is_what_the_samples_say(shape, constant):
    A, y = data(shape)
    Y = one_hot(y, range(N_CLASSES))
    omega, error, df = literal(A, Y, 0.1)
    A[:, 3] *= constant
    omega[3] /= constant
    sums = Standardised.of(NormalEquations(A.T @ A, A.T @ Y, len(A)), intercept=3)
    found = sums.restored(regress(sums.equations, 0.1))
    scores = A @ omega
    scores_agree(A, found.omega, omega)
    assert found.error == pytest.approx(error, rel=0.05)
    assert found.df == pytest.approx(df, rel=0.05)
    np.testing.assert_allclose(found.sums, Y.T @ scores, atol=1e-6 * len(A))
    np.testing.assert_allclose(found.squares, scores.T @ scores, atol=1e-6 * len(A))
    means, within = ScoreMoments(found.sums, found.squares, 0.0, 0.0).left_out(Y.sum(axis=0))
    moments = sums.equations.score_moments(found.ridge)
    centred = replace(moments, df=0.0).left_out(Y.sum(axis=0))
    np.testing.assert_allclose(centred[0], means, atol=1e-6)
    np.testing.assert_allclose(centred[1], within, atol=1e-6)


@pytest.mark.parametrize("shape", ["many", "few", "as many as columns"])
def test_the_chosen_ridge_is_the_best_of_the_grid_for_standardised_columns(shape):
    A, y = data(shape, seed=1)
    model = taught(A, y, [len(y) // 2], ridge="gcv")
    ridges = [relative for relative in GRID if relative >= LEAST_RIDGE]
    grid = [literal(A, one_hot(y, model.labels), relative) for relative in ridges]
    near = [float(abs(A @ (model.omega - omega)).max()) for omega, _, _ in grid]
    assert min(near) < 1e-6
    assert grid[int(np.argmin(near))][1] <= 1.02 * min(error for _, error, _ in grid)


@pytest.mark.parametrize("shape", ["many", "few"])
def test_rows_in_place_of_a_gram_matrix_change_nothing(shape):
    A, y = data(shape)
    Y = one_hot(y, range(N_CLASSES))
    rows = Standardised.of(NormalEquations(None, A.T @ Y, len(A), A), intercept=3)
    gram = Standardised.of(NormalEquations(A.T @ A, A.T @ Y, len(A)), intercept=3)
    np.testing.assert_allclose(rows.equations.gram, gram.equations.gram, atol=1e-6 * len(A))
    np.testing.assert_allclose(rows.equations.cross, gram.equations.cross, atol=1e-6 * len(A))
    assert rows.equations.squared_targets == pytest.approx(gram.equations.squared_targets)
    assert rows.equations.rows is not None


@pytest.mark.parametrize("options", [{"gamma": 0.3}, {"forgetting": Decay(1.0)}])
def test_tasks_that_count_less_are_weighted_samples(options):
    A, y = data("many")
    model = taught(A, y, [250], ridge=0.01, retain="tasks", **options)
    weights = np.where(np.arange(len(y)) < 250, 0.3 if "gamma" in options else 0.5, 1.0)
    expected, _, _ = literal(A, one_hot(y, model.labels), 0.01, weights)
    scores_agree(A, model.omega, expected)


def test_constant_columns_have_no_weight_and_a_new_task_can_wake_them():
    A, y = data("many")
    first = taught(A, y, [])
    assert abs(first.omega[5]).max() == abs(first.omega[7]).max() == 0
    B = A.copy()
    B[:, 7] = y
    both = first.learn(lambda: [(B, y)])
    assert abs(both.omega[7]).max() > 0
    A2, y2 = np.concatenate([A, B]), np.concatenate([y, y])
    scores_agree(A2, both.omega, taught(A2, y2, []).omega, 1e-6)


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_samples_of_one_class_are_answered_by_their_class(n):
    A, _ = data("many")
    model = taught(A[:n], np.zeros(n, int), [])
    np.testing.assert_allclose(A @ model.omega, 1.0, rtol=1e-9)


def test_products_of_single_precision_are_not_used_for_variances():
    A, y = data("many")
    one, two = taught(A, y, [100], precision="float32"), taught(A, y, [100])
    np.testing.assert_array_equal(one.omega, two.omega)


@pytest.mark.parametrize("options", [{"curvature": "diagonal"}, {"terms": (1, 2, 3)}])
def test_rules_that_do_not_keep_sums_refuse_to_standardise(options):
    with pytest.raises(ClsnetError, match="standardised from sums"):
        AnalyticClassifier(Rule(**options), 3, "cpu", intercept=2)
