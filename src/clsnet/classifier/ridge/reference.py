"""Ridge regression and generalised cross-validation in one place, by one `eigh`.

The solvers beside this file give the same answers faster. Tests compare them; nothing else uses it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def ridge_regression(
    A: np.ndarray,
    Y: np.ndarray,
    ridges: Sequence[float],
    weights: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return Omega and the left-out error over N for each ridge.

    The error is infinite where too little is left to tell it from rounding.

    Parameters
    ----------
    A, Y
        Representations and one-hot targets, one row per sample.
    ridges
        Added to the diagonal of ``A'A`` as they are.
    weights
        How much each sample counts; 1 if there are none.

    Examples
    --------
    >>> omega, error = ridge_regression(np.array([[1.0], [2.0]]), np.array([[1.0], [1.0]]), [1.0])
    >>> omega.tolist(), error.round(4).tolist()
    ([[[0.5]]], [0.1837])
    """
    weights = np.ones(len(A)) if weights is None else weights
    gram, cross = A.T @ (weights[:, None] * A), A.T @ (weights[:, None] * Y)
    n_samples = weights.sum()
    values, vectors = np.linalg.eigh(gram)
    values = values.clip(min=0)
    projected = vectors.T @ cross
    omegas, errors = [], []
    for ridge in ridges:
        omega = vectors @ (projected / (values + ridge)[:, None])
        residual = (weights[:, None] * (Y - A @ omega) ** 2).sum()
        left = n_samples - (values / (values + ridge)).sum()
        told = residual > 1e-9 * n_samples and left >= 0.01 * n_samples
        omegas.append(omega)
        errors.append(residual / left**2 if told else np.inf)
    return np.stack(omegas), np.array(errors)
