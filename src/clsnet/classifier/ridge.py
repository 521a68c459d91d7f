"""The ridge, chosen from Gram matrices alone."""

from __future__ import annotations

import functools

import numpy as np
import torch
from torch import Tensor

GRID = tuple(10.0 ** (exponent / 2) for exponent in range(-18, 7))
START = GRID.index(1e-5)
PROBES = 64


def generalised_cross_validation(
    gram: Tensor, cross: Tensor, n_samples: float
) -> tuple[float, float]:
    """Return the ridge with the least generalised cross-validation error, and that error.

    The error of leaving samples out, ``|Y - A Omega|^2 / (N - df)^2`` with
    ``df = tr(A'A (A'A + ridge I)^-1)``, follows from ``A'A``, ``A'Y`` and N: no sample is held out
    and none is looked at twice, so the choice depends on the total of what was seen and not on its
    order. The ridge is found by walking downhill, always from the same place, over a grid of half
    powers of ten times the mean diagonal of ``A'A``.

    Parameters
    ----------
    gram, cross
        ``A'A`` and ``A'Y`` with one-hot rows in Y, over everything seen.
    n_samples
        Number of rows of A.
    """
    scale = float(gram.diagonal().mean()) or 1.0

    @functools.cache
    def error(index: int) -> float:
        return left_out_error(gram, cross, n_samples, GRID[index] * scale)

    best = START
    while True:
        around = [i for i in (best - 1, best, best + 1) if 0 <= i < len(GRID)]
        lowest = min(around, key=lambda i: (error(i), -i))
        if lowest == best:
            return GRID[best] * scale, error(best)
        best = lowest


def left_out_error(gram: Tensor, cross: Tensor, n_samples: float, ridge: float) -> float:
    """Return ``|Y - A Omega|^2 / (N - df)^2``; N times that is the error on samples left out."""
    matrix = gram.clone()
    matrix.diagonal().add_(ridge)
    factor, failed = torch.linalg.cholesky_ex(matrix)
    if failed:
        return float("inf")
    omega = torch.cholesky_solve(cross, factor)
    halves = torch.linalg.solve_triangular(factor, _probes(gram, n_samples), upper=False)
    left = n_samples - (len(gram) - ridge * float(halves.square().sum()))
    if left < 0.01 * n_samples:
        return float("inf")
    # |Y - A Omega|^2 = N - tr(Omega'B) - ridge |Omega|^2, as (A'A + ridge I) Omega = B.
    residual = n_samples - float((omega * cross).sum()) - ridge * float(omega.square().sum())
    # None is left only where rounding has made the Gram matrix indefinite: nothing can be told.
    return residual / left**2 if residual > 0 else float("inf")


def _probes(gram: Tensor, n_samples: float) -> Tensor:
    """Return columns v for ``tr(M) = sum v'Mv``: the identity, or random signs where they suffice.

    The trace is at most N and corrects N: known to ``sqrt(2 N / probes)`` it is known well enough.
    """
    size = len(gram)
    n_probes = PROBES if n_samples > 4 * size else 4 * PROBES
    if size <= n_probes:
        return torch.eye(size, dtype=gram.dtype, device=gram.device)
    signs = np.random.RandomState(0).randint(0, 2, (size, n_probes)) * 2.0 - 1.0
    return torch.as_tensor(signs / n_probes**0.5, dtype=gram.dtype, device=gram.device)
