"""Few samples: ridge regression in the space that they span."""

from __future__ import annotations

import torch
from torch import Tensor

SPAN = 8  # worth its eigenvectors up to one eighth of the dimension


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
    probes
        Columns v for ``tr(M) = sum v'Mv``.

    Examples
    --------
    >>> rows = torch.tensor([[2.0, 0.0, 0.0]])
    >>> spectrum = Spectrum(rows, cross=rows.T, probes=torch.eye(3))
    >>> spectrum.solution(ridge=1.0).flatten().tolist()
    [0.4..., 0.0, 0.0]
    >>> spectrum.sums(ridge=1.0)
    (0.8..., 0.16..., 0.8...)
    """

    def __init__(self, rows: Tensor, cross: Tensor, probes: Tensor) -> None:
        values, vectors = torch.linalg.eigh(rows @ rows.T)
        there = values > 16 * len(rows) * torch.finfo(values.dtype).eps * values[-1]
        self.values = values[there]
        self.basis = vectors[:, there].T @ rows
        self.cross = self.basis @ cross
        self._squares = self.cross.square().sum(dim=1)
        self._freedom = (self.basis @ probes).square().sum(dim=1)

    def sums(self, ridge: float) -> tuple[float, float, float]:
        """Return ``tr(B'MB)`` and ``tr(B'MMB)`` with B for ``A'Y``, and ``df = tr(A'A M)``."""
        inverse = 1 / (self.values + ridge)
        forms = self._squares * inverse / self.values
        df = (self._freedom * inverse).sum()
        return float(forms.sum()), float((forms * inverse).sum()), float(df)

    def solution(self, ridge: float) -> Tensor:
        """Return ``M A'Y``."""
        scaled = self.cross / (self.values * (self.values + ridge))[:, None]
        out: Tensor = self.basis.T @ scaled
        return out
