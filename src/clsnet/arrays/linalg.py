"""Linear algebra under one name each, for NumPy's arrays and for torch's.

NumPy's go to BLAS and LAPACK through SciPy, which is imported when first needed. A symmetric
matrix in C order is its own transpose in Fortran order: BLAS and LAPACK take it without a copy.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from clsnet.arrays.devices import CPU, Array, Device, device_of, is_torch, namespace
from clsnet.extras import needed

MIRROR_BLOCK = 128  # rows and columns that fit into a processor's cache together
LEAST_BLOCK = 256

# ----------------------------------------------------------------------- small helpers


def double(array: Array) -> Array:
    """Return an array as float64, itself if it is one already."""
    xp = namespace(array)
    return xp.astype(array, xp.float64, copy=False)


def contiguous(array: Array) -> Array:
    """Return an array in C order, itself if it is already."""
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
    gemm = _blas("gemm", a)
    return gemm(1.0, left, right, trans_a=left_turned, trans_b=right_turned).T


# ----------------------------------------------------------------------- Gram matrices


def add_gram(
    gram: Array,
    A: Array,
    precision: str = "float64",
    scratch: Array | None = None,
    fresh: bool = False,
) -> None:
    """Add ``A'A`` to the upper triangle of `gram`, in place.

    Parameters
    ----------
    gram
        A float64 matrix in C order. What it has below its diagonal has no meaning afterwards;
        `mirror` makes it whole.
    A
        Rows to multiply.
    precision
        Of the products: ``"float64"``, ``"float32"``, ``"tf32"`` or ``"bfloat16"``. Sums are always
        float64. On a CPU ``"tf32"`` is float32, and ``"bfloat16"`` rounds A alone.
    scratch
        A float32 matrix in C order, as large as `gram` and at first zero, for products of that type
        on a CPU. It is faster to reuse one than to allocate one with every call.
    fresh
        Whether `gram` is still zero. It is then written and not read: memory that was just
        allocated is slow to touch twice.

    Examples
    --------
    >>> gram = np.zeros((2, 2))
    >>> add_gram(gram, np.array([[1.0, 2.0]]))
    >>> mirror(gram)
    array([[1., 2.],
           [2., 4.]])
    """
    if is_torch(gram):
        _add_gram_torch(gram, A, precision)
        return
    if precision == "float64":
        rows = np.ascontiguousarray(A, dtype=np.float64)
        kept = 0.0 if fresh else 1.0
        _blas("syrk", rows)(1.0, rows.T, beta=kept, c=gram.T, lower=1, overwrite_c=1)
        return
    rows = np.ascontiguousarray(A, dtype=np.float32)
    rows = _rounded_to_bfloat16(rows) if precision == "bfloat16" else rows
    products = np.zeros(gram.shape, np.float32) if scratch is None else scratch
    _blas("syrk", rows)(1.0, rows.T, beta=0.0, c=products.T, lower=1, overwrite_c=1)
    for some in _blocks(gram):
        part, product = gram[some, some.start :], products[some, some.start :]
        np.copyto(part, product) if fresh else np.add(part, product, out=part)


def plus_gram(gram: Array, A: Array) -> Array:
    """Return ``gram + A'A`` for few rows A, and leave `gram` as it is."""
    if not is_torch(gram):
        total = np.array(gram, order="C")
        add_gram(total, A)
        return mirror(total)
    torch = _torch()
    if len(A) < len(gram) // 16:  # moving numbers takes longer than multiplying them twice
        return torch.addmm(gram, A.T, A)
    total = torch.empty_like(gram)
    for some in _blocks(gram):
        rest = slice(some.start, None)
        total[some, rest] = torch.addmm(gram[some, rest], A[:, some].T, A[:, rest])
    return mirror(total)


def mirror(gram: Array) -> Array:
    """Copy what is above the diagonal to below it, in place: symmetric to the last bit."""
    xp = namespace(gram)
    block = _block(gram) if is_torch(gram) else MIRROR_BLOCK
    square = xp.ones((block, block), dtype=xp.bool, device=device_of(gram))
    below = xp.tril(square, k=-1)
    for start in range(0, len(gram), block):
        some, rest = slice(start, start + block), slice(start + block, None)
        gram[rest, some] = gram[some, rest].T
        own = gram[some, some]
        own[...] = xp.where(below[: len(own), : len(own)], own.T, own)
    return gram


def add_upper(total: Array, matrix: Array) -> None:
    """Add the upper triangle of a matrix in place; what is below in `total` has no meaning then."""
    for some in _blocks(total):
        total[some, some.start :] += matrix[some, some.start :]


def upper_blocks(gram: Array) -> Iterator[Array]:
    """Yield blocks of rows, from the diagonal on, as views: together the upper triangle."""
    return (gram[some, some.start :] for some in _blocks(gram))


def add_scaled(total: Array, matrix: Array, factor: float) -> None:
    """Add ``factor * matrix`` in place, without a second matrix of that size."""
    if is_torch(total):
        total.add_(matrix, alpha=factor)
    elif factor == 1:
        total += matrix
    else:
        for start in range(0, len(total), LEAST_BLOCK):
            some = slice(start, start + LEAST_BLOCK)
            total[some] += factor * matrix[some]


def _block(gram: Array) -> int:
    return max(LEAST_BLOCK, len(gram) // 8)


def _blocks(gram: Array) -> Iterator[slice]:
    block = _block(gram)
    return (slice(start, start + block) for start in range(0, len(gram), block))


def _rounded_to_bfloat16(A: np.ndarray) -> np.ndarray:
    """Round float32 numbers to the nearest of bfloat16, which has their first sixteen bits."""
    bits = A.view(np.uint32)
    nearest = bits + 0x7FFF + ((bits >> 16) & 1)
    return (nearest & np.uint32(0xFFFF0000)).view(np.float32)


def _add_gram_torch(gram: Array, A: Array, precision: str) -> None:
    torch = _torch()
    A = A.to(getattr(torch, precision.replace("tf32", "float32")))
    with _tf32(precision == "tf32"):
        for some in _blocks(gram):
            rows, rest = A[:, some].T, A[:, some.start :]
            part = gram[some, some.start :]
            if A.dtype == gram.dtype:
                part.addmm_(rows, rest)
            elif A.dtype == torch.bfloat16 and A.is_cuda:
                part += _bfloat16_product(rows, rest)
            else:
                part += rows.float() @ rest.float()


def _bfloat16_product(a: Array, b: Array) -> Array:
    """Return the product in float32, where this version of torch and the GPU can sum up so."""
    torch = _torch()
    try:
        return torch.mm(a, b, out_dtype=torch.float32)
    except (TypeError, RuntimeError):
        return a.float() @ b.float()


@contextlib.contextmanager
def _tf32(allowed: bool) -> Iterator[None]:
    torch = _torch()
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if allowed else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


# ---------------------------------------------------------------------- factorisations


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
        Only its lower triangle has a meaning.

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
    lower, failed = _lapack("potrf", shifted)(shifted.T, lower=1, clean=0, overwrite_a=1)
    return None if failed else lower


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
    return _lapack("potrs", lower)(lower, rhs, lower=1)[0]


def solve_lower(lower: Array, rhs: Array, transposed: bool = False) -> Array:
    """Solve ``L x = rhs``, or ``L' x = rhs``, by a lower triangular matrix L."""
    if is_torch(lower):
        matrix = lower.mT if transposed else lower
        return _torch().linalg.solve_triangular(matrix, rhs, upper=transposed)
    return _blas("trsm", lower)(1.0, lower, rhs, lower=1, trans_a=int(transposed))


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


def _blas(name: str, array: np.ndarray) -> Any:
    from scipy.linalg import blas

    return getattr(blas, _letter(array) + name)


def _lapack(name: str, array: np.ndarray) -> Any:
    from scipy.linalg import lapack

    return getattr(lapack, _letter(array) + name)


def _letter(array: np.ndarray) -> str:
    return "s" if array.dtype == np.float32 else "d"
