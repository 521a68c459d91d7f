import numpy as np
import pytest

from clsnet.arrays.gram import (
    _rounded_to_bfloat16,
    add_gram,
    add_upper,
    mirror,
    plus_gram,
    upper_blocks,
)
from tests.arrays.test_linalg import close, matrix

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("size", [1, 5, 127, 128, 129, 300, 700])
def test_products_are_added_in_place_to_a_matrix_that_mirroring_completes(size, on, back):
    first, second = matrix(9, size), matrix(20, size, 1)
    gram = on(np.zeros((size, size)))
    add_gram(gram, on(first))
    add_gram(gram, on(second))
    whole = mirror(gram)
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
    add_gram(gram, on(A))
    close(back(mirror(gram)), A.astype(float).T @ A.astype(float))


@pytest.mark.parametrize(
    "precision, error", [("float32", 1e-6), ("tf32", 1e-2), ("bfloat16", 2e-2)]
)
@pytest.mark.parametrize("scratch", [None, np.full((30, 30), 7, np.float32)])
def test_products_are_rounded_and_sums_are_not(precision, error, scratch, on, back):
    A = matrix(50, 30).astype(np.float32)
    gram = on(np.full((30, 30), 2.0**20))
    add_gram(gram, on(A), precision, scratch)
    found = back(mirror(gram)) - 2.0**20
    exact = A.astype(float).T @ A.astype(float)
    assert np.linalg.norm(found - exact) < error * np.linalg.norm(exact)


def test_rounding_to_bfloat16_is_that_of_torch():
    torch = pytest.importorskip("torch")
    A = (RANDOM.standard_normal(1000) * 10.0 ** RANDOM.integers(-30, 30, 1000)).astype(np.float32)
    expected = torch.from_numpy(A).bfloat16().float().numpy()
    np.testing.assert_array_equal(_rounded_to_bfloat16(A), expected)


@pytest.mark.parametrize("n", [1, 30, 200])
def test_a_sum_with_products_leaves_the_matrix_as_it_is(n, on, back):
    base, A = matrix(600, 600), matrix(n, 600, 1)
    base = base.T @ base
    gram = on(base.copy())
    close(back(plus_gram(gram, on(A))), base + A.T @ A)
    np.testing.assert_array_equal(back(gram), base)


@pytest.mark.parametrize("size", [1, 256, 300, 2500])
def test_blocks_cover_the_upper_triangle_as_views(size, on, back):
    gram = on(np.zeros((size, size)))
    for block in upper_blocks(gram):
        block += 1
    assert np.array_equal(np.triu(back(gram)), np.triu(np.ones((size, size))))


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_a_fresh_matrix_is_written_and_not_read(precision, on, back):
    A = matrix(40, 300)
    first, again = on(np.zeros((300, 300))), on(np.zeros((300, 300)))
    add_gram(first, on(A), precision, fresh=True)
    add_gram(again, on(A), precision)
    assert np.array_equal(np.triu(back(first)), np.triu(back(again)))


@pytest.mark.parametrize("size", [1, 256, 300])
def test_upper_triangles_are_added_without_the_lower_ones(size, on, back):
    a, b = matrix(size, size), matrix(size, size, 1)
    total = on(a.copy())
    add_upper(total, on(b))
    close(np.triu(back(total)), np.triu(a + b))
