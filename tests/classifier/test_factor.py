import copy
import pickle

import numpy as np
import pytest

from clsnet.classifier.ridge.factor import MOST_ROWS, Factor

SIZE = 64


def rows(n, seed, size=SIZE):
    return np.random.default_rng(seed).standard_normal((n, size))


def matrix_of(*parts, ridge=0.5):
    A = np.concatenate(parts)
    return A.T @ A + ridge * np.eye(A.shape[1])


def factor_of(A, ridge=0.5, on=np.asarray):
    return Factor.of(on(A.T @ A), ridge)


def test_solution_satisfies_the_equation(on, back):
    A, B = rows(40, 0), rows(3, 1).T
    found = back(factor_of(A, on=on).solve(on(B)))
    np.testing.assert_allclose(matrix_of(A) @ found, B, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("cuts", [[4], [1, 3], [1, 1, 1, 1]])
def test_added_rows_count_as_if_they_had_been_there(cuts, on, back):
    A, more, B = rows(40, 0), rows(4, 2) * 30, rows(3, 1).T
    factor = factor_of(A, on=on)
    for part in np.split(more, np.cumsum(cuts)[:-1]):
        factor = factor.extended(on(part))
    assert factor.n_rows == 4
    expected = np.linalg.solve(matrix_of(A, more), B)
    np.testing.assert_allclose(back(factor.solve(on(B))), expected, rtol=1e-7, atol=1e-7)
    assert factor.n_rows == 4


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def test_extending_leaves_the_factor_itself_alone():
    A, B = rows(40, 0), rows(3, 1).T
    factor = factor_of(A)
    one, two = factor.extended(rows(2, 2)), factor.extended(rows(2, 3))
    assert_close(two.solve(B), np.linalg.solve(matrix_of(A, rows(2, 3)), B))
    assert_close(one.solve(B), np.linalg.solve(matrix_of(A, rows(2, 2)), B))
    assert_close(factor.solve(B), np.linalg.solve(matrix_of(A), B))


def test_many_rows_ask_for_a_new_factor():
    factor = factor_of(rows(40, 0)).extended(rows(SIZE // MOST_ROWS, 1))
    assert factor is not None
    assert factor.extended(rows(1, 2)) is None


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_a_matrix_that_is_not_positive_definite_has_no_factor(value, on):
    assert Factor.of(on(np.full((3, 3), value)), 0.0) is None


def test_copies_do_not_carry_the_factor_along():
    factor = factor_of(rows(40, 0))
    assert copy.deepcopy({"kept": factor}) == {"kept": None}
    assert pickle.loads(pickle.dumps(factor)) is None
