"""Routines of BLAS and LAPACK, through SciPy, which is imported when one is first needed."""

from __future__ import annotations

from typing import Any

import numpy as np


def blas(name: str, array: np.ndarray) -> Any:
    """Return a routine of BLAS for the precision of an array."""
    import scipy.linalg.blas

    return getattr(scipy.linalg.blas, _letter(array) + name)


def lapack(name: str, array: np.ndarray) -> Any:
    """Return a routine of LAPACK for the precision of an array."""
    import scipy.linalg.lapack

    return getattr(scipy.linalg.lapack, _letter(array) + name)


def _letter(array: np.ndarray) -> str:
    return "s" if array.dtype == np.float32 else "d"
