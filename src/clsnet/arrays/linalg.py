"""Linear algebra under the same names for arrays of NumPy and of torch.

NumPy arrays go to BLAS and LAPACK through SciPy, which is imported when first needed. A symmetric
matrix in C order is its own transpose in Fortran order: BLAS and LAPACK take it without a copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clsnet.arrays.devices import CPU, Array, Device, device_of, is_torch, namespace
from clsnet.arrays.routines import blas, lapack
from clsnet.extras import needed

ROWS_AT_ONCE = 256
SMALL = 128  # rows of a triangular matrix up to which it is inverted as any other


def double(array: Array) -> Array:
    """Return an array as float64, without a copy if it already is."""
    xp = namespace(array)
    return xp.astype(array, xp.float64, copy=False)


def contiguous(array: Array) -> Array:
    """Return an array in C order, without a copy if it already is."""
    return array.contiguous() if is_torch(array) else np.asarray(array, order="C")


def diagonal(matrix: Array) -> Array:
    """Return the diagonal as a view that can be written to.

    Examples
    --------
    >>> matrix = np.zeros((2, 2))
    >>> diagonal(matrix)[...] = 1.0
    >>> matrix
    array([[1., 0.],
           [0., 1.]])
    """
    return matrix.diagonal() if is_torch(matrix) else np.einsum("ii->i", matrix)


def indices(numbers: np.ndarray | list[int], device: Device) -> Array:
    """Return indices for arrays of a device, without waiting for what a GPU still has to do."""
    numbers = np.asarray(numbers, dtype=np.int64)
    if device == CPU:
        return numbers
    torch = needed("torch", f"device {device}", "torch")
    return torch.from_numpy(numbers).to(device, non_blocking=True)


def take(array: Array, rows: np.ndarray | list[int]) -> Array:
    """Return some rows of an array.

    Examples
    --------
    >>> take(np.array([1.0, 2.0, 3.0]), [2, 0])
    array([3., 1.])
    """
    return array[indices(rows, device_of(array))]


def norms(columns: Array) -> Array:
    """Return the Euclidean norm of each column."""
    return namespace(columns).linalg.vector_norm(columns, axis=0)


def epsilon(array: Array) -> float:
    """Return the relative rounding error of an array's type."""
    return float(namespace(array).finfo(array.dtype).eps)


def dot(a: Array, b: Array) -> float:
    """Return the sum of products of two matrices, without a third one.

    Examples
    --------
    >>> dot(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    11.0
    """
    return float(a.reshape(-1) @ b.reshape(-1) if is_torch(a) else np.einsum("ij,ij->", a, b))


def product(a: Array, b: Array) -> Array:
    """Return ``a @ b`` by the BLAS that factorises too.

    NumPy and SciPy each bring a BLAS with threads of its own. Where products and factorisations
    take turns, the waiting threads of one would slow down the other.

    Examples
    --------
    >>> product(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))
    array([[11.]])
    """
    if is_torch(a) or 0 in (*a.shape, *b.shape):
        return a @ b
    # In Fortran order, ``b' a'`` is ``a b`` in C order.
    left, left_turned = (b.T, 0) if b.flags.c_contiguous else (b, 1)
    right, right_turned = (a.T, 0) if a.flags.c_contiguous else (a, 1)
    gemm = blas("gemm", a)
    return gemm(1.0, left, right, trans_a=left_turned, trans_b=right_turned).T


def add_scaled(total: Array, matrix: Array, factor: float) -> None:
    """Add ``factor * matrix`` in place, without a second matrix of that size."""
    if is_torch(total):
        total.add_(matrix, alpha=factor)
    elif factor == 1:
        total += matrix
    else:
        for start in range(0, len(total), ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            total[some] += factor * matrix[some]


def cholesky(matrix: Array, shift: float | Array = 0.0) -> Array | None:
    """Return the lower Cholesky factor of a symmetric matrix, or None if there is none.

    Parameters
    ----------
    matrix
        A symmetric matrix.
    shift
        Added to the diagonal: one number, or one for each row.

    Returns
    -------
    array or None
        Only its lower triangle is valid.

    Examples
    --------
    >>> cholesky(np.array([[3.0]]), shift=1.0)
    array([[2.]])
    >>> cholesky(np.array([[-1.0]])) is None
    True
    """
    if is_torch(matrix):
        shifted = matrix.clone()
        shifted.diagonal().add_(shift)
        lower, failed = _torch().linalg.cholesky_ex(shifted)
        return None if failed else lower
    shifted = np.array(matrix, order="C")
    diagonal(shifted)[...] += shift
    lower, failed = lapack("potrf", shifted)(shifted.T, lower=1, clean=0, overwrite_a=1)
    return None if failed else lower


def whitening(matrix: np.ndarray, shift: float) -> np.ndarray | None:
    """Return the inverse of the lower Cholesky factor, or None if there is none.

    It is computed by NumPy alone, as importing SciPy takes longer than small matrices do.

    Parameters
    ----------
    matrix
        A symmetric matrix.
    shift
        Added to the diagonal.

    Examples
    --------
    >>> whitening(np.array([[3.0]]), shift=1.0)
    array([[0.5]])
    >>> whitening(np.array([[-1.0]]), shift=0.0) is None
    True
    """
    shifted = np.array(matrix)
    diagonal(shifted)[...] += shift
    try:
        return _inverse_of_lower(np.linalg.cholesky(shifted))
    except np.linalg.LinAlgError:
        return None


def _inverse_of_lower(lower: np.ndarray) -> np.ndarray:
    """Return the inverse of a lower triangular matrix, by halves: a third of the work of `inv`."""
    n = len(lower)
    if n <= SMALL:
        return np.linalg.inv(lower)
    half = n // 2
    inverse = np.zeros_like(lower)
    inverse[:half, :half] = first = _inverse_of_lower(lower[:half, :half])
    inverse[half:, half:] = second = _inverse_of_lower(lower[half:, half:])
    inverse[half:, :half] = -second @ (lower[half:, :half] @ first)
    return inverse


def cholesky_batch(matrices: Array) -> tuple[Array, Array]:
    """Return the lower factors of several matrices of torch, and a number above 0 where none is."""
    lower, failed = _torch().linalg.cholesky_ex(matrices)
    return lower, failed


def solve_by_factor(lower: Array, rhs: Array) -> Array:
    """Solve ``L L' x = rhs`` by the lower Cholesky factor L; several at once with torch.

    Examples
    --------
    >>> solve_by_factor(np.array([[2.0]]), np.array([[8.0]]))
    array([[2.]])
    """
    if is_torch(lower):  # several times faster than torch.cholesky_solve
        torch = _torch()
        half = torch.linalg.solve_triangular(lower, rhs, upper=False)
        return torch.linalg.solve_triangular(lower.mT, half, upper=True)
    if rhs.shape[1] == 0:
        return np.array(rhs)
    return lapack("potrs", lower)(lower, rhs, lower=1)[0]


def solve_lower(lower: Array, rhs: Array, transposed: bool = False) -> Array:
    """Solve ``L x = rhs``, or ``L' x = rhs``, by a lower triangular matrix L."""
    if is_torch(lower):
        matrix = lower.mT if transposed else lower
        return _torch().linalg.solve_triangular(matrix, rhs, upper=transposed)
    return blas("trsm", lower)(1.0, lower, rhs, lower=1, trans_a=int(transposed))


def eigh(matrix: Array) -> tuple[Array, Array]:
    """Return the eigenvalues of a symmetric matrix, smallest first, and its eigenvectors."""
    if is_torch(matrix):
        values, vectors = _torch().linalg.eigh(matrix)
        return values, vectors
    import scipy.linalg

    values, vectors = scipy.linalg.eigh(matrix.T, driver="evd", check_finite=False)
    return values, vectors


def triangular_factor(A: Array) -> Array:
    """Return R of the factorisation ``A = Q R`` of a matrix with no more rows than columns.

    The leading square block is factorised; the other columns are multiplied by its Q.
    """
    xp = namespace(A)
    n = len(A)
    Q, R = xp.linalg.qr(A[:, :n])
    return xp.concat([R, Q.T @ A[:, n:]], axis=1)


def left_singular(matrix: Array) -> Array:
    """Return the left singular vectors of a matrix, each times its singular value."""
    u, s, _ = namespace(matrix).linalg.svd(matrix, full_matrices=False)
    return u * s


def _torch() -> Any:
    return needed("torch", "a GPU", "torch")
