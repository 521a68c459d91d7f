import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clsnet.classifier.ridge.factor import Factor
from clsnet.classifier.solvers import (
    System,
    iterating_pays,
    refine,
    solve_by_conjugate_gradients,
    solve_per_class,
    solve_shared,
)


def systems(size, n_classes, spread=1.0, seed=0):
    random = np.random.default_rng(seed)
    A = random.standard_normal((size // 2, size))
    diagonal = 10 ** random.uniform(-spread, spread, (size, n_classes))
    return A.T @ A + 0.1 * np.eye(size), diagonal, random.standard_normal(diagonal.shape)


def relative(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


@pytest.mark.parametrize("size, n_classes", [(1, 1), (12, 1), (40, 5), (600, 12)])
def test_every_class_satisfies_its_own_equation(size, n_classes, on, back):
    shared, diagonal, rhs = systems(size, n_classes)
    omega = back(System(on(shared), on(rhs), on(diagonal)).solve())
    for c in range(n_classes):
        matrix = shared + np.diag(diagonal[:, c])
        assert relative(matrix @ omega[:, c], rhs[:, c]) < 1e-10


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 60), st.integers(1, 6), st.floats(0, 1.5), st.integers(0, 1000))
def test_conjugate_gradients_agree_with_factorisation(size, n_classes, spread, seed):
    shared, diagonal, rhs = systems(size, n_classes, spread, seed)
    omega = solve_by_conjugate_gradients(shared, diagonal, rhs)
    assert omega is not None
    assert relative(omega, solve_per_class(shared, diagonal, rhs)) < 1e-8


def test_conjugate_gradients_leave_a_column_without_right_hand_side_at_zero():
    shared, diagonal, rhs = systems(20, 3)
    rhs[:, 1] = 0
    omega = solve_by_conjugate_gradients(shared, diagonal, rhs)
    assert abs(omega[:, 1]).max() == 0
    assert relative(omega, solve_per_class(shared, diagonal, rhs)) < 1e-8


def test_where_conjugate_gradients_give_up_the_system_is_factorised(on):
    shared, diagonal, rhs = map(on, systems(600, 12, spread=6.0))
    assert iterating_pays(600, 12)
    assert solve_by_conjugate_gradients(shared, diagonal, rhs) is None
    with pytest.warns(UserWarning, match="factorising once per class instead"):
        omega = System(shared, rhs, diagonal).solve()
    np.testing.assert_array_equal(omega, solve_per_class(shared, diagonal, rhs))


def test_a_small_class_and_a_singular_one_are_factorised_in_one_batch(on, back):
    shared, diagonal, rhs = systems(9, 3)
    shared, rhs = shared * 0 + 1, rhs * 0 + 1
    diagonal[:, 1] = 0
    omega = back(solve_per_class(on(shared), on(diagonal), on(rhs)))
    np.testing.assert_allclose(omega[:, 1], np.full(9, 1 / 9), rtol=1e-7)
    for c in (0, 2):
        assert relative((shared + np.diag(diagonal[:, c])) @ omega[:, c], rhs[:, c]) < 1e-10


def test_factorisations_in_several_batches_give_the_same(monkeypatch, on):
    shared, diagonal, rhs = map(on, systems(20, 7))
    expected = solve_per_class(shared, diagonal, rhs)
    monkeypatch.setattr("clsnet.classifier.solvers.MOST_NUMBERS", 2 * 20**2)
    np.testing.assert_allclose(solve_per_class(shared, diagonal, rhs), expected, rtol=1e-7)


def test_conjugate_gradients_give_up_on_a_matrix_without_factorisation(on):
    zero = on(np.zeros((3, 3)))
    assert solve_by_conjugate_gradients(zero, zero[:, :1], zero[:, :1] + 1) is None


@pytest.mark.parametrize("seed", range(20))
def test_singular_system_has_the_least_norm_solution(seed, on):
    random = np.random.default_rng(seed)
    A = random.standard_normal((random.integers(1, 7), 8))
    A = np.concatenate([A, A[:, :2], np.zeros((len(A), 1))], axis=1)
    Y = random.standard_normal((len(A), 2))
    omega = solve_shared(on(A.T @ A), on(A.T @ Y))
    np.testing.assert_allclose(omega, np.linalg.pinv(A) @ Y, rtol=1e-6, atol=1e-6)


def test_twice_the_same_feature_shares_its_weight():
    a = np.array([[1.0, 2.0, 3.0]])
    A = np.concatenate([a, a]).T
    omega = solve_shared(A.T @ A, A.T @ a.T)
    np.testing.assert_allclose(omega, np.full_like(omega, 0.5), rtol=1e-7)


def test_system_of_zeros_has_the_zero_solution(device, back):
    omega = back(System.zeros(4, 2, device).solve())
    assert omega.dtype == np.float64
    np.testing.assert_array_equal(omega, np.zeros((4, 2)))


def test_iterating_pays_from_some_size_and_number_of_classes_on():
    sizes, classes = range(1, 3000, 97), range(1, 40)
    for n in classes:
        pays = [iterating_pays(size, n) for size in sizes]
        assert pays == sorted(pays)
    for size in sizes:
        pays = [iterating_pays(size, n) for n in classes]
        assert pays == sorted(pays)
    assert iterating_pays(2000, 10)
    assert not iterating_pays(2000, 1)
    assert not iterating_pays(100, 100)


@pytest.mark.parametrize("moved", [1.0, 1.001, 1.2, 0.8])
def test_a_factor_of_a_ridge_nearby_solves_as_well_as_its_own(moved, on, back):
    gram, _, rhs = map(on, systems(60, 4))
    factor = Factor.of(gram, 0.5)
    expected = Factor.of(gram, 0.5 * moved).solve(rhs)
    for start in (0 * rhs, factor.solve(rhs), expected):
        found = refine(lambda x: gram @ x, 0.5 * moved, rhs, factor, start)
        assert relative(back(found), back(expected)) < 1e-10


def test_a_factor_of_another_matrix_is_refused():
    gram, _, rhs = systems(60, 4)
    other, _, _ = systems(60, 4, seed=1)
    factor = Factor.of(1e6 * other, 1e-3)
    assert refine(lambda x: gram @ x, 1e-3, rhs, factor, np.zeros_like(rhs)) is None
