"""Gram matrices, of which the upper triangle is computed and the lower one mirrored."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from clsnet.arrays.devices import Array, device_of, is_torch, namespace
from clsnet.arrays.routines import blas
from clsnet.extras import needed

MIRROR_BLOCK = 128  # rows and columns that fit into a processor's cache together
LEAST_BLOCK = 256


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
        A float64 matrix in C order. Afterwards only its upper triangle is valid; `mirror` fills in
        the rest.
    A
        Rows to multiply.
    precision
        Of the products: ``"float64"``, ``"float32"``, ``"tf32"`` or ``"bfloat16"``. Sums are always
        float64. On a CPU ``"tf32"`` is float32, and ``"bfloat16"`` rounds A alone.
    scratch
        A float32 matrix in C order, as large as `gram` and initially zero, for float32 products on
        a CPU. Reusing one is faster than allocating one with every call.
    fresh
        Whether `gram` is still zero. It is then only written, because newly allocated memory is
        slow to access twice.

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
        blas("syrk", rows)(1.0, rows.T, beta=kept, c=gram.T, lower=1, overwrite_c=1)
        return
    rows = np.ascontiguousarray(A, dtype=np.float32)
    rows = _rounded_to_bfloat16(rows) if precision == "bfloat16" else rows
    products = np.zeros(gram.shape, np.float32) if scratch is None else scratch
    blas("syrk", rows)(1.0, rows.T, beta=0.0, c=products.T, lower=1, overwrite_c=1)
    for some in _blocks(gram):
        part, product = gram[some, some.start :], products[some, some.start :]
        np.copyto(part, product) if fresh else np.add(part, product, out=part)


def plus_gram(gram: Array, A: Array) -> Array:
    """Return ``gram + A'A`` for few rows A, and leave `gram` as it is."""
    if not is_torch(gram):
        total = np.array(gram, order="C")
        add_gram(total, A)
        return mirror(total)
    torch = needed("torch", "a GPU", "torch")
    if len(A) < len(gram) // 16:  # moving numbers takes longer than multiplying them twice
        return torch.addmm(gram, A.T, A)
    total = torch.empty_like(gram)
    for some in _blocks(gram):
        rest = slice(some.start, None)
        total[some, rest] = torch.addmm(gram[some, rest], A[:, some].T, A[:, rest])
    return mirror(total)


def mirror(gram: Array) -> Array:
    """Copy the upper triangle to the lower one, in place: symmetric to the last bit."""
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
    torch = needed("torch", "a GPU", "torch")
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
    torch = needed("torch", "a GPU", "torch")
    try:
        return torch.mm(a, b, out_dtype=torch.float32)
    except (TypeError, RuntimeError):
        return a.float() @ b.float()


@contextlib.contextmanager
def _tf32(allowed: bool) -> Iterator[None]:
    torch = needed("torch", "a GPU", "torch")
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if allowed else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
