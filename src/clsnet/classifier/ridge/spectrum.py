"""Few samples: ridge regression in the space that they span."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

SPAN = 8  # worth its eigenvectors up to one eighth of the dimension
SPARE = 8  # directions beyond those that are there


class Spectrum:
    """``M = (A'A + ridge I)^-1`` for every ridge, from the eigenvectors of ``A A'``.

    Ten samples span ten directions, however many columns they have. With V the eigenvectors of
    ``A A'``, these are ``A'V``, the eigenvectors of ``A'A``; ``A'Y`` and the weights lie in them.

    Parameters
    ----------
    rows
        A, or any factor of its Gram matrix.
    cross
        ``A'Y``.

    Examples
    --------
    >>> rows = torch.tensor([[2.0, 0.0, 0.0]])
    >>> spectrum = Spectrum(rows, cross=rows.T)
    >>> spectrum.solution(ridge=1.0).flatten().tolist()
    [0.4..., 0.0, 0.0]
    >>> spectrum.sums(ridge=1.0)
    (0.8..., 0.16..., 0.8...)
    """

    def __init__(self, rows: Tensor, cross: Tensor) -> None:
        values, vectors = torch.linalg.eigh(rows @ rows.T)
        there = values > 16 * len(rows) * torch.finfo(values.dtype).eps * values[-1]
        self.values = values[there]
        self.basis = vectors[:, there].T @ rows
        self.cross = self.basis @ cross
        self._squares = self.cross.square().sum(dim=1)

    def sums(self, ridge: float) -> tuple[float, float, float]:
        """Return ``tr(B'MB)`` and ``tr(B'MMB)`` with B for ``A'Y``, and ``df = tr(A'A M)``."""
        inverse = 1 / (self.values + ridge)
        forms = self._squares * inverse / self.values
        df = (self.values * inverse).sum()
        return float(forms.sum()), float((forms * inverse).sum()), float(df)

    def solution(self, ridge: float) -> Tensor:
        """Return ``M A'Y``."""
        scaled = self.cross / (self.values * (self.values + ridge))[:, None]
        out: Tensor = self.basis.T @ scaled
        return out


def spanning(gram: Tensor, n_samples: float) -> Tensor | None:
    """Return as few rows as there are samples, with this Gram matrix; None if there are more.

    The products of a Gram matrix with random vectors lie where the samples lie, and so many of them
    lead everywhere there.

    Examples
    --------
    >>> A = torch.tensor([[3.0, 0.0, 4.0]])
    >>> rows = spanning(A.T @ A, n_samples=1)
    >>> torch.allclose(rows.T @ rows, A.T @ A, atol=1e-5)
    True
    """
    size = len(gram)
    n = min(math.ceil(n_samples) + SPARE, size)
    directions = torch.linalg.qr(gram @ random_signs(size, n).to(gram)).Q
    values, vectors = torch.linalg.eigh(directions.T @ gram @ directions)
    if float(values.sum()) < (1 - size * torch.finfo(gram.dtype).eps) * float(gram.trace()):
        return None
    rows: Tensor = (vectors * values.clamp(min=0).sqrt()).T @ directions.T
    return rows


def random_signs(rows: int, columns: int) -> Tensor:
    """Return a matrix of 1 and -1, always the same.

    Examples
    --------
    >>> random_signs(2, 3).abs().sum().item()
    6.0
    """
    return torch.from_numpy(np.random.RandomState(0).randint(0, 2, (rows, columns)) * 2.0 - 1.0)
