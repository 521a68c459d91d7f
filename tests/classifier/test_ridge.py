import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clsnet.arrays.linalg import eigh
from clsnet.classifier.ridge.error_curve import GRID
from clsnet.classifier.ridge.normal_equations import NormalEquations, left_out_error
from clsnet.classifier.ridge.rule import regress
from tests.literal import one_hot


def noisy_problem(n, d, seed=0, n_classes=3):
    random = np.random.default_rng(seed)
    A = random.standard_normal((n, d))
    outputs = A[:, :n_classes] + 0.7 * random.standard_normal((n, n_classes))
    return A, one_hot(outputs.argmax(axis=1), range(n_classes))


def hat(A, ridge):
    return A @ np.linalg.solve(A.T @ A + ridge * np.eye(A.shape[1]), A.T)


def literal_error(A, Y, ridge):
    H = hat(A, ridge)
    return ((Y - H @ Y) ** 2).sum() / (len(A) - np.trace(H)) ** 2


def error(A, Y, ridge):
    return left_out_error(NormalEquations(A.T @ A, A.T @ Y, len(A)), ridge)


@settings(deadline=None, max_examples=30)
@given(
    n=st.integers(4, 60),
    d=st.integers(3, 40),
    relative=st.sampled_from([1e-4, 1e-2, 1.0, 100.0]),
    seed=st.integers(0, 1000),
)
def test_error_from_sums_equals_the_formula_with_the_hat_matrix(n, d, relative, seed):
    A, Y = noisy_problem(n, d, seed)
    ridge = relative * n
    left = n - np.trace(hat(A, ridge))
    if left > 0.011 * n:
        assert error(A, Y, ridge) == pytest.approx(literal_error(A, Y, ridge), rel=1e-6)
    elif left < 0.009 * n:
        assert error(A, Y, ridge) == float("inf")


@pytest.mark.parametrize("n, d", [(200, 5), (200, 40), (60, 30), (80, 160)])
def test_chosen_ridge_is_the_best_of_the_grid(n, d, on):
    A, Y = noisy_problem(n, d)
    found = regress(NormalEquations(on(A.T @ A), on(A.T @ Y), n))
    scale = (A**2).sum(axis=0).mean()
    enough = [r * scale for r in GRID if n - np.trace(hat(A, r * scale)) > 0.01 * n]
    errors = {r: literal_error(A, Y, r) for r in enough}
    assert found.error == pytest.approx(min(errors.values()), rel=1e-6)
    assert found.ridge == pytest.approx(min(errors, key=errors.get), rel=1e-6)


@pytest.mark.parametrize("ridge", [0.1, 10.0, 100.0])
def test_error_is_close_to_leaving_out_one_sample_at_a_time(ridge):
    A, Y = noisy_problem(200, 20)
    left_out = []
    for i in range(len(A)):
        rest = np.arange(len(A)) != i
        B = A[rest]
        omega = np.linalg.solve(B.T @ B + ridge * np.eye(20), B.T @ Y[rest])
        left_out.append(((Y[i] - A[i] @ omega) ** 2).sum())
    assert len(A) * error(A, Y, ridge) == pytest.approx(np.mean(left_out), rel=0.03)


@pytest.mark.parametrize("n", [1500, 400])
@pytest.mark.parametrize("relative", [1e-2, 1.0])
def test_random_probes_stand_in_for_the_trace_of_large_matrices(n, relative):
    A, Y = noisy_problem(n, 300)
    ridge = relative * n
    assert error(A, Y, ridge) == pytest.approx(literal_error(A, Y, ridge), rel=0.03)
    assert error(A, Y, ridge) == error(A, Y, ridge)


def test_data_without_any_signal_gets_a_large_ridge():
    A, Y = noisy_problem(50, 40)
    shuffled = np.random.default_rng(1).permutation(Y)
    noise = NormalEquations(A.T @ A, A.T @ shuffled, 50)
    signal = NormalEquations(A.T @ A, A.T @ Y, 50)
    assert regress(noise).ridge > regress(signal).ridge


def test_features_that_are_all_zero_have_a_finite_answer(on):
    zero = on(np.zeros((3, 3)))
    found = regress(NormalEquations(zero, zero[:, :2], 5))
    assert found.ridge > 0
    assert found.error == pytest.approx(5 / 25)


def test_few_columns_are_decomposed_once_for_all_ridges(monkeypatch):
    A, Y = noisy_problem(200, 40)
    sizes = []

    def counted(matrix):
        sizes.append(len(matrix))
        return eigh(matrix)

    monkeypatch.setattr("clsnet.classifier.ridge.spectrum.eigh", counted)
    monkeypatch.delattr("clsnet.classifier.ridge.point.cholesky")
    regress(NormalEquations(A.T @ A, A.T @ Y, 200, counts=Y.sum(axis=0)))
    assert sizes == [40]
