import subprocess
import sys

import numpy as np
import pytest

from clsnet.arrays import linalg

RANDOM = np.random.default_rng(0)


def matrix(n, size, seed=0):
    return np.random.default_rng(seed).standard_normal((n, size))


def close(found, expected, tolerance=1e-10):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


# ----------------------------------------------------------------------- Gram matrices


@pytest.mark.parametrize("size", [1, 5, 127, 128, 129, 300, 700])
def test_products_are_added_in_place_to_a_matrix_that_mirroring_completes(size, on, back):
    first, second = matrix(9, size), matrix(20, size, 1)
    gram = on(np.zeros((size, size)))
    linalg.add_gram(gram, on(first))
    linalg.add_gram(gram, on(second))
    whole = linalg.mirror(gram)
    assert whole is gram
    close(back(gram), first.T @ first + second.T @ second)
    np.testing.assert_array_equal(back(gram), back(gram).T)


@pytest.mark.parametrize("form", ["fortran", "columns", "rows", "float32"])
def test_rows_of_any_layout_are_multiplied(form, on, back):
    whole = matrix(40, 60)
    A = {
        "fortran": np.asfortranarray(whole),
        "columns": whole[:, ::2],
        "rows": whole[::3],
        "float32": whole.astype(np.float32),
    }[form]
    gram = on(np.zeros((A.shape[1], A.shape[1])))
    linalg.add_gram(gram, on(A))
    close(back(linalg.mirror(gram)), A.astype(float).T @ A.astype(float))


@pytest.mark.parametrize(
    "precision, error", [("float32", 1e-6), ("tf32", 1e-2), ("bfloat16", 2e-2)]
)
@pytest.mark.parametrize("scratch", [None, np.full((30, 30), 7, np.float32)])
def test_products_are_rounded_and_sums_are_not(precision, error, scratch, on, back):
    A = matrix(50, 30).astype(np.float32)
    gram = on(np.full((30, 30), 2.0**20))
    linalg.add_gram(gram, on(A), precision, scratch)
    found = back(linalg.mirror(gram)) - 2.0**20
    exact = A.astype(float).T @ A.astype(float)
    assert np.linalg.norm(found - exact) < error * np.linalg.norm(exact)


def test_rounding_to_bfloat16_is_that_of_torch():
    torch = pytest.importorskip("torch")
    A = (RANDOM.standard_normal(1000) * 10.0 ** RANDOM.integers(-30, 30, 1000)).astype(np.float32)
    expected = torch.from_numpy(A).bfloat16().float().numpy()
    np.testing.assert_array_equal(linalg._rounded_to_bfloat16(A), expected)


@pytest.mark.parametrize("n", [1, 30, 200])
def test_a_sum_with_products_leaves_the_matrix_as_it_is(n, on, back):
    base, A = matrix(600, 600), matrix(n, 600, 1)
    base = base.T @ base
    gram = on(base.copy())
    close(back(linalg.plus_gram(gram, on(A))), base + A.T @ A)
    np.testing.assert_array_equal(back(gram), base)


@pytest.mark.parametrize("size", [1, 256, 300, 2500])
def test_blocks_cover_the_upper_triangle_as_views(size, on, back):
    gram = on(np.zeros((size, size)))
    for block in linalg.upper_blocks(gram):
        block += 1
    assert np.array_equal(np.triu(back(gram)), np.triu(np.ones((size, size))))


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_a_fresh_matrix_is_written_and_not_read(precision, on, back):
    A = matrix(40, 300)
    first, again = on(np.zeros((300, 300))), on(np.zeros((300, 300)))
    linalg.add_gram(first, on(A), precision, fresh=True)
    linalg.add_gram(again, on(A), precision)
    assert np.array_equal(np.triu(back(first)), np.triu(back(again)))


@pytest.mark.parametrize("size", [1, 256, 300])
def test_upper_triangles_are_added_without_the_lower_ones(size, on, back):
    a, b = matrix(size, size), matrix(size, size, 1)
    total = on(a.copy())
    linalg.add_upper(total, on(b))
    close(np.triu(back(total)), np.triu(a + b))


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
