import subprocess
import sys

import numpy as np
import pytest

from clsnet.arrays import linalg


def matrix(n, size, seed=0):
    return np.random.default_rng(seed).standard_normal((n, size))


def close(found, expected, tolerance=1e-10):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("factor", [0.0, 1.0, 2.5])
def test_a_scaled_matrix_is_added_in_place(factor, on, back):
    base, other = matrix(300, 300), matrix(300, 300, 1)
    total = on(base.copy())
    linalg.add_scaled(total, on(other), factor)
    close(back(total), base + factor * other)


@pytest.mark.parametrize("a", ["plain", "fortran", "strided", "empty"])
@pytest.mark.parametrize("b", ["plain", "fortran", "strided", "empty"])
def test_products_of_any_layout(a, b, on, back):
    def of(kind, rows, columns):
        whole = matrix(2 * rows, 2 * columns)
        return {
            "plain": whole[:rows, :columns].copy(),
            "fortran": np.asfortranarray(whole[:rows, :columns]),
            "strided": whole[::2, ::2],
            "empty": whole[:rows, :columns],
        }[kind]

    left = of(a, 0 if a == "empty" else 7, 5)
    right = of(b, 5, 0 if b == "empty" else 3)
    found = back(linalg.product(on(left), on(right)))
    close(found, left @ right)
    assert found.flags.c_contiguous


# ---------------------------------------------------------------------- factorisations


def definite(size, seed=0):
    A = matrix(size, size, seed)
    return A.T @ A + np.eye(size)


@pytest.mark.parametrize("shift", [0.0, 3.0, "each"])
def test_factor_of_a_shifted_matrix_solves_it_and_leaves_it_alone(shift, on, back):
    M, B = definite(50), matrix(50, 4)
    given = on(M.copy())
    value = np.arange(50.0) if shift == "each" else shift
    lower = linalg.cholesky(given, on(value) if shift == "each" else value)
    np.testing.assert_array_equal(back(given), M)
    shifted = M + np.diag(np.broadcast_to(value, 50))
    close(np.tril(back(lower)) @ np.tril(back(lower)).T, shifted)
    close(shifted @ back(linalg.solve_by_factor(lower, on(B))), B)
    half = linalg.solve_lower(lower, on(B))
    close(np.tril(back(lower)) @ back(half), B)
    close(shifted @ back(linalg.solve_lower(lower, half, transposed=True)), B)


@pytest.mark.parametrize("n_columns", [0, 1, 3])
def test_right_hand_sides_stay_as_they_are(n_columns, on, back):
    M, B = definite(20), on(matrix(20, n_columns))
    before = back(B).copy()
    lower = linalg.cholesky(on(M))
    assert linalg.solve_by_factor(lower, B).shape == (20, n_columns)
    assert linalg.solve_lower(lower, B).shape == (20, n_columns)
    np.testing.assert_array_equal(back(B), before)


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_matrix_that_is_not_positive_definite_has_no_factor(value, on):
    assert linalg.cholesky(on(np.full((3, 3), value))) is None


@pytest.mark.parametrize("n", [1, 7, 30])
def test_triangular_factor_has_the_products_of_the_rows(n, on, back):
    A = matrix(n, 30)
    R = back(linalg.triangular_factor(on(A)))
    np.testing.assert_array_equal(R, np.triu(R))
    close(R.T @ R, A.T @ A)


def test_eigenvalues_come_smallest_first_with_their_vectors(on, back):
    M = definite(40)
    values, vectors = map(back, linalg.eigh(on(M)))
    assert (np.diff(values) >= 0).all()
    close((vectors * values) @ vectors.T, M)


def test_left_singular_vectors_are_scaled_and_largest_first(on, back):
    A = matrix(20, 6)
    found = back(linalg.left_singular(on(A)))
    close(found @ found.T, A @ A.T)
    close(np.linalg.norm(found, axis=0), np.linalg.svd(A).S)


def test_neither_torch_nor_scipy_is_imported_before_it_is_needed():
    code = (
        "import sys, clsnet.arrays.linalg, clsnet.arrays.ranks, clsnet.classifier.analytic\n"
        "print([name for name in ('torch', 'scipy', 'sklearn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
