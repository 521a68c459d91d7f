"""A Cholesky factor that takes in further samples without a new factorisation."""

from __future__ import annotations

import functools
from typing import Any

from clsnet.arrays.devices import Array, namespace
from clsnet.arrays.linalg import cholesky, diagonal, epsilon, product, solve_by_factor

MOST_ROWS = 16  # rows are added up to one sixteenth of the dimension; then a new factor is cheaper


class Factor:
    """``A'A + ridge I`` by its Cholesky factor, and rows that A has gained since.

    With U these rows, M the factorised matrix and ``W = M^-1 U'``, the Woodbury identity is
    ``(M + U'U)^-1 = M^-1 - W (I + U W)^-1 W'``. It is a cache: copies and pickles hold None.

    Examples
    --------
    >>> import numpy as np
    >>> factor = Factor.of(np.eye(16), ridge=3.0)
    >>> factor.solve(np.ones((16, 1)))[0].item()
    0.25
    >>> more = factor.extended(np.eye(16)[:1])
    >>> more.solve(np.ones((16, 1)))[:2, 0].tolist()
    [0.2, 0.25]
    """

    def __init__(self, lower: Array, ridge: float, base: Factor | None = None) -> None:
        self.lower, self.ridge = lower, ridge
        self._base = base
        self._rows = lower[:0]

    @classmethod
    def of(cls, gram: Array, ridge: float) -> Factor | None:
        """Factorise, or return None where rounding hides that the matrix is positive definite."""
        lower = safe_cholesky(gram, ridge)
        return None if lower is None else cls(lower, ridge)

    def extended(self, rows: Array) -> Factor | None:
        """Return the factor with more rows in A, or None where a new one is cheaper."""
        if self.n_rows + len(rows) > len(self.lower) // MOST_ROWS:
            return None
        factor = Factor(self.lower, self.ridge, base=self)
        factor._rows = namespace(rows).astype(rows, self.lower.dtype, copy=False)
        return factor

    @property
    def n_rows(self) -> int:
        """Rows added since the factorisation."""
        return len(self._rows) + (self._base.n_rows if self._base else 0)

    def solve(self, rhs: Array) -> Array:
        """Return ``(A'A + ridge I)^-1 rhs``."""
        solution = solve_by_factor(self.lower, rhs)
        if self.n_rows:
            U, W, lower = self._correction
            solution -= product(W, solve_by_factor(lower, product(U, solution)))
        return solution

    @functools.cached_property
    def _correction(self) -> tuple[Array, Array, Array]:
        """U, W and the factor of ``I + U W``, for all rows added since the factorisation."""
        U, W = self._rows, solve_by_factor(self.lower, self._rows.T)
        if self._base is not None and self._base.n_rows:
            before, solved, _ = self._base._correction
            xp = namespace(U)
            U, W = xp.concat([before, U]), xp.concat([solved, W], axis=1)
        lower = cholesky(product(U, W), shift=1.0)
        assert lower is not None
        self._base = None
        self._rows = U
        return U, W, lower

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


def safe_cholesky(matrix: Array, shift: float | Array) -> Array | None:
    """Return the lower factor of ``matrix + shift I``, or None where a pivot is mere rounding."""
    lower = cholesky(matrix, shift)
    return lower if lower is not None and is_sound(lower, matrix, shift) else None


def is_sound(lower: Array, matrix: Array, shift: float | Array) -> bool:
    """Whether no pivot of the lower factor of ``matrix + shift I`` is mere rounding."""
    xp = namespace(matrix)
    least = float(xp.min(diagonal(lower))) ** 2
    largest = float(xp.max(diagonal(matrix) + shift))
    return bool(least > rounding(len(matrix), largest, epsilon(matrix)))


def rounding(size: int, largest: Any, epsilon: float) -> Any:
    """Return what the square of a pivot must exceed to be more than rounding.

    Parameters
    ----------
    size
        Number of rows of the matrix.
    largest
        The largest number on its diagonal; several for several matrices.
    epsilon
        Relative rounding error of its type.
    """
    return 16 * size * epsilon * largest
