"""Sparse matrices as samples; rows become dense when they are used."""

from __future__ import annotations

from typing import Any

import numpy as np


class SparseRows:
    """Rows of a sparse matrix, indexed like an array of them.

    A slice or an array of indices returns other `SparseRows`; `numpy.asarray` makes them dense. So
    memory holds only the dense rows that are used together.

    Parameters
    ----------
    matrix
        A matrix or array of `scipy.sparse` in CSR form.

    Examples
    --------
    >>> import scipy.sparse
    >>> rows = SparseRows(scipy.sparse.csr_array([[0, 1], [2, 0], [0, 3]]))
    >>> len(rows), rows.shape, np.asarray(rows[1:]).tolist()
    (3, (3, 2), [[2, 0], [0, 3]])
    """

    def __init__(self, matrix: Any) -> None:
        self._matrix = matrix
        self.shape: tuple[int, ...] = matrix.shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | np.ndarray) -> SparseRows:
        return SparseRows(self._matrix[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("sparse rows have to be made dense: there is no array without a copy")
        dense = self._matrix.toarray()
        return np.asarray(dense if dtype is None else dense.astype(dtype, copy=False))

    @property
    def finite(self) -> bool:
        """Whether all values are finite."""
        return bool(np.isfinite(self._matrix.data).all())
