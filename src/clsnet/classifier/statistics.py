"""What one pass over a task leaves behind: sums of products, never a sample."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
import torch
from torch import Tensor

Label = Hashable
Batch = tuple[Tensor, np.ndarray]

BLOCK = 512


class Statistics:
    """Gram matrix ``A'A``, class sums ``A'Y`` and class counts of a stream of batches.

    Products and sums are float64: the rounding of float32 products is not small beside the ridge,
    and would make the weights depend on the order of tasks. Only the blocks on and above
    the diagonal are multiplied; `gram` mirrors them.

    Parameters
    ----------
    dimension
        Number of columns of A.
    device
        Where the sums live.

    Examples
    --------
    >>> seen = Statistics(2).add(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), np.array(["cat", "dog"]))
    >>> seen.gram
    tensor([[10., 14.],
            [14., 20.]], dtype=torch.float64)
    >>> seen.counts
    {'cat': 1, 'dog': 1}
    """

    def __init__(self, dimension: int, device: torch.device | str = "cpu") -> None:
        self.dimension = dimension
        self.device = torch.device(device)
        self.sums: dict[Label, Tensor] = {}
        self.counts: dict[Label, int] = {}
        self._gram = torch.zeros(dimension, dimension, dtype=torch.float64, device=self.device)

    def add(self, A: Tensor, y: np.ndarray) -> Statistics:
        """Add one batch."""
        A = A.double()
        for start in range(0, self.dimension, BLOCK):
            rows = slice(start, start + BLOCK)
            self._gram[rows, start:] += A[:, rows].T @ A[:, start:]
        labels, codes = np.unique(y, return_inverse=True)
        one_hot = torch.zeros(len(y), len(labels), dtype=A.dtype, device=A.device)
        one_hot[torch.arange(len(y)), torch.as_tensor(codes, device=A.device)] = 1
        for label, total, count in zip(
            labels.tolist(), (A.T @ one_hot).double().T, np.bincount(codes), strict=True
        ):
            self.sums[label] = self.sums.get(label, 0.0) + total
            self.counts[label] = self.counts.get(label, 0) + int(count)
        return self

    @property
    def gram(self) -> Tensor:
        """``A'A``, float64."""
        for start in range(BLOCK, self.dimension, BLOCK):
            rows = slice(start, start + BLOCK)
            self._gram[rows, :start] = self._gram[:start, rows].T
        return self._gram

    @property
    def n_samples(self) -> int:
        """Rows seen."""
        return sum(self.counts.values())

    @property
    def labels(self) -> list[Label]:
        """Classes seen, sorted."""
        return sorted(self.counts)  # type: ignore[type-var]

    def cross(self, labels: Iterable[Label]) -> Tensor:
        """``A'Y`` with one column per label; zero for a class that was not seen."""
        zero = torch.zeros(self.dimension, dtype=torch.float64, device=self.device)
        return torch.stack([self.sums.get(label, zero) for label in labels], dim=1)
