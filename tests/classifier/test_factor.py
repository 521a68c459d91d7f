import copy
import pickle

import numpy as np
import pytest
import torch

from clsnet.classifier.ridge.factor import MOST_ROWS, Factor

SIZE = 64


def rows(n, seed, size=SIZE):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((n, size)))


def matrix_of(*parts, ridge=0.5):
    A = torch.cat(parts)
    return A.T @ A + ridge * torch.eye(A.shape[1], dtype=torch.float64)


def factor_of(A, ridge=0.5):
    return Factor.of(A.T @ A, ridge)


def test_solution_satisfies_the_equation():
    A, B = rows(40, 0), rows(3, 1).T
    torch.testing.assert_close(matrix_of(A) @ factor_of(A).solve(B), B)


@pytest.mark.parametrize("cuts", [[4], [1, 3], [1, 1, 1, 1]])
def test_added_rows_count_as_if_they_had_been_there(cuts):
    A, more, B = rows(40, 0), rows(4, 2) * 30, rows(3, 1).T
    factor = factor_of(A)
    for part in torch.split(more, cuts):
        factor = factor.extended(part)
    assert factor.n_rows == 4
    torch.testing.assert_close(factor.solve(B), torch.linalg.solve(matrix_of(A, more), B))
    assert factor.n_rows == 4


def test_extending_leaves_the_factor_itself_alone():
    A, B = rows(40, 0), rows(3, 1).T
    factor = factor_of(A)
    one, two = factor.extended(rows(2, 2)), factor.extended(rows(2, 3))
    torch.testing.assert_close(two.solve(B), torch.linalg.solve(matrix_of(A, rows(2, 3)), B))
    torch.testing.assert_close(one.solve(B), torch.linalg.solve(matrix_of(A, rows(2, 2)), B))
    torch.testing.assert_close(factor.solve(B), torch.linalg.solve(matrix_of(A), B))


def test_many_rows_ask_for_a_new_factor():
    factor = factor_of(rows(40, 0)).extended(rows(SIZE // MOST_ROWS, 1))
    assert factor is not None
    assert factor.extended(rows(1, 2)) is None


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_a_matrix_that_is_not_positive_definite_has_no_factor(value):
    assert Factor.of(torch.full((3, 3), value, dtype=torch.float64), 0.0) is None


def test_copies_do_not_carry_the_factor_along():
    factor = factor_of(rows(40, 0))
    assert copy.deepcopy({"kept": factor}) == {"kept": None}
    assert pickle.loads(pickle.dumps(factor)) is None
