import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clsnet.extractor.admm import lasso_admm, soft_threshold
from tests import literal


def problem(seed=0, n=30, k=5, d=4):
    random = np.random.default_rng(seed)
    return random.standard_normal((n, k)), random.standard_normal((n, d))


def solve(G, Z, alpha, penalty=1.0, iterations=50):
    return lasso_admm(G.T @ G, G.T @ Z, alpha, penalty, iterations)


@given(st.floats(-10, 10), st.floats(0, 5))
def test_soft_threshold_equals_its_three_cases(a, b):
    assert soft_threshold(np.array(a), b) == literal.soft_threshold(a, b)


@pytest.mark.parametrize("alpha, rho", [(0.01, 1.0), (5.0, 1.0), (5.0, 20.0)])
def test_every_step_equals_the_iteration_of_the_text(alpha, rho):
    G, Z = problem()
    for step, expected in enumerate(literal.lasso_steps(G, Z, alpha, rho, 8), start=1):
        np.testing.assert_allclose(solve(G, Z, alpha, rho, step), expected, atol=1e-12)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000), st.sampled_from([0.01, 1.0, 8.0]), st.sampled_from([1.0, 10.0]))
def test_solution_meets_the_optimality_conditions_of_the_lasso(seed, alpha, penalty):
    G, Z = problem(seed)
    theta = solve(G, Z, alpha, penalty, iterations=1500)
    slope = G.T @ (Z - G @ theta)
    used = theta != 0
    np.testing.assert_allclose(slope[used], alpha * np.sign(theta[used]), atol=1e-8)
    assert (abs(slope[~used]) <= alpha + 1e-8).all()


def test_solution_becomes_sparse_and_then_zero_as_alpha_grows():
    G, Z = problem()
    zeros = [(solve(G, Z, alpha, iterations=500) == 0).sum() for alpha in (0.0, 4.0, 1000.0)]
    assert zeros[0] == 0 < zeros[1] < zeros[2] == 20


def test_published_penalty_would_erase_everything():
    G, Z = problem()
    assert not solve(G, Z, alpha=0.01, penalty=2.0**-30).any()
    assert solve(G, Z, alpha=0.01).all()


def test_batch_of_problems_equals_one_by_one():
    problems = [problem(seed) for seed in range(4)]
    gram = np.stack([G.T @ G for G, _ in problems])
    cross = np.stack([G.T @ Z for G, Z in problems])
    together = lasso_admm(gram, cross, alpha=2.0)
    for theta, (G, Z) in zip(together, problems, strict=True):
        np.testing.assert_allclose(theta, solve(G, Z, 2.0), atol=1e-12)


def test_tensors_give_what_arrays_give():
    torch = pytest.importorskip("torch")
    G, Z = problem()
    gram, cross = torch.from_numpy(G.T @ G), torch.from_numpy(G.T @ Z)
    theta = lasso_admm(gram, cross, 2.0)
    assert isinstance(theta, torch.Tensor)
    np.testing.assert_allclose(theta.numpy(), solve(G, Z, 2.0), atol=1e-12)


def test_single_precision_stays_single():
    G, Z = problem()
    gram, cross = (G.T @ G).astype(np.float32), (G.T @ Z).astype(np.float32)
    theta = lasso_admm(gram, cross, 2.0)
    assert theta.dtype == np.float32
    np.testing.assert_allclose(theta, solve(G, Z, 2.0), atol=1e-5)
