import copy
from dataclasses import replace

import numpy as np
import pytest

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.ridge import normal_equations
from clsnet.classifier.ridge import rule as ridge_rule
from clsnet.classifier.ridge.error_curve import GRID, ErrorCurve
from clsnet.classifier.ridge.factor import Factor
from clsnet.classifier.ridge.normal_equations import NormalEquations, left_out_error
from clsnet.classifier.ridge.rule import START, regress
from clsnet.classifier.rule import Rule

CPU = "cpu"
SIZE = 192
RANDOM = np.random.default_rng(0)
WEIGHTS = RANDOM.standard_normal((20, SIZE))
CENTRES = RANDOM.standard_normal((6, 20)) * 0.7


def samples(n, seed, n_classes=6):
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n)
    A = np.maximum((CENTRES[y] + random.standard_normal((n, 20))) @ WEIGHTS, 0)
    return A, y


def learn(classifier, *tasks):
    for A, y in tasks:
        classifier = classifier.learn(lambda A=A, y=y: [(A, y)])
    return classifier


@pytest.fixture(autouse=True)
def _large(monkeypatch):
    """Let these small matrices go the way of large ones."""
    monkeypatch.setattr(normal_equations, "DIRECT", 40)
    monkeypatch.setattr(ridge_rule, "COARSE", 100)


@pytest.fixture
def before():
    return learn(AnalyticClassifier(Rule(), SIZE, CPU), samples(900, 1, n_classes=5))


@pytest.mark.parametrize("ridge", ["auto", 1e-6, 1e-2, 0.0])
def test_small_task_on_a_kept_factor_equals_a_fresh_solution(before, ridge):
    before = replace(before, rule=Rule(ridge=ridge))
    before = learn(before, samples(900, 1, n_classes=5))
    after = learn(before, samples(5, 2), samples(1, 3), samples(4, 4))
    assert after.factor.n_rows == 10
    fresh = replace(after, stale=True, factor=None).consolidated()
    assert after.labels == fresh.labels == list(range(6))
    scale = abs(fresh.omega).max()
    np.testing.assert_allclose(after.omega, fresh.omega, rtol=0, atol=1e-8 * scale)
    assert after.calibration.temperature == pytest.approx(fresh.calibration.temperature, rel=1e-8)


def test_many_small_tasks_end_in_a_new_factor(before):
    after = before
    for seed in range(8):
        after = learn(after, samples(5, seed))
        assert after.factor.n_rows <= SIZE // 16
    fresh = replace(after, stale=True, factor=None).consolidated()
    np.testing.assert_allclose(after.omega, fresh.omega, rtol=1e-7, atol=1e-9)


def test_a_task_with_much_larger_features_moves_the_ridge(before):
    A, y = samples(4, 5)
    after = learn(before, (1000 * A, y))
    fresh = replace(after, stale=True, factor=None).consolidated()
    np.testing.assert_allclose(after.omega, fresh.omega, rtol=1e-6, atol=1e-10)
    assert after.calibration.temperature == pytest.approx(fresh.calibration.temperature, rel=1e-6)


def test_weights_can_wait_for_the_last_of_several_tasks(before):
    tasks = [samples(5, 2), samples(300, 3), samples(2, 4)]
    waiting = before
    for A, y in tasks:
        waiting = waiting.observe(lambda A=A, y=y: [(A, y)])
    assert waiting.stale
    assert waiting.omega is before.omega
    together, one_by_one = waiting.consolidated(), learn(before, *tasks)
    assert not together.stale
    assert together.consolidated() is together
    np.testing.assert_allclose(together.omega, one_by_one.omega, rtol=1e-7, atol=1e-9)


def test_waiting_tasks_can_be_forgotten():
    A, y = samples(200, 1)
    classifier = AnalyticClassifier(Rule(retain="tasks", ridge=1e-3), SIZE, CPU)
    one = classifier.observe(lambda: [(A, y)])
    two = one.observe(lambda: [(A[:50], y[:50] + 6)])
    left = two.forget([1], [], exact=True)
    np.testing.assert_allclose(left.omega, one.consolidated().omega, rtol=1e-7, atol=1e-7)
    nothing = left.forget([0], [], exact=True)
    assert nothing.labels == []
    assert nothing.omega.shape[1] == 0


def test_copies_of_a_model_do_not_hold_the_factor(before):
    assert before.factor is not None
    assert copy.deepcopy(before).factor is None
    assert np.isfinite(learn(copy.deepcopy(before), samples(3, 2)).omega).all()


def test_precisions_differ_by_their_rounding_only():
    A, y = samples(600, 1)
    exact = learn(AnalyticClassifier(Rule(), SIZE, CPU), (A, y)).traces["total"].gram
    for precision, relative in (("float32", 1e-6), ("tf32", 1e-2), ("bfloat16", 2e-2)):
        rule = Rule(precision=precision)
        gram = learn(AnalyticClassifier(rule, SIZE, CPU), (A, y)).traces["total"].gram
        assert 0 < np.linalg.norm(gram - exact) / np.linalg.norm(exact) < relative
        assert gram.dtype == np.float64


# ------------------------------------------------------------------------ which ridge


def sums_of(n, seed, noise):
    A, y = samples(n, seed)
    random = np.random.default_rng(seed)
    y = np.where(random.uniform(size=n) < noise, random.integers(0, 6, n), y)
    return NormalEquations(A.T @ A, A.T @ np.eye(6)[y], n)


@pytest.mark.parametrize("n", [60, 150, 260, 900])
@pytest.mark.parametrize("noise", [0.0, 0.5, 1.0])
def test_one_factorisation_chooses_the_ridge_that_many_would(n, noise):
    sums = sums_of(n, n, noise)
    errors = [left_out_error(sums, r * sums.scale) for r in GRID]
    lows = [
        i
        for i in range(len(GRID))
        if errors[i] < np.inf and errors[i] <= min(errors[max(i - 1, 0) : i + 2])
    ]
    chosen = regress(sums)
    index = min(range(len(GRID)), key=lambda i: abs(np.log(chosen.ridge / sums.scale / GRID[i])))
    assert index in lows
    assert chosen.error == pytest.approx(errors[index], rel=1e-8)


@pytest.mark.parametrize("centre", [START, START + 4, START + 8])
def test_a_kept_factor_never_changes_the_choice(centre):
    sums = sums_of(300, 7, 0.3)
    kept = Factor.of(sums.gram, GRID[centre] * sums.scale)
    one, two = regress(sums), regress(sums, kept=kept)
    assert one.ridge == two.ridge
    np.testing.assert_allclose(one.omega, two.omega, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("step", [-3, -1, 1, 3])
def test_bounds_hold_the_error_that_a_factorisation_finds(step):
    sums = sums_of(600, 3, 0.2)
    curve = ErrorCurve(sums, Factor.of(sums.gram, GRID[START + 4] * sums.scale))
    ridge = GRID[START + 4 + step] * sums.scale
    exact = left_out_error(sums, ridge)
    widths = []
    for _ in range(8):
        least, most = curve.bounds(ridge)
        assert least * (1 - 1e-9) <= exact <= most * (1 + 1e-9)
        widths.append(most - least)
        curve.quadrature.step()
    assert widths[-1] < 0.1 * exact
