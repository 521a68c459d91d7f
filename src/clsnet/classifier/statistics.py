"""What one pass over a task leaves behind: sums of products, never a sample."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

Label = Hashable
Batch = tuple[Tensor, np.ndarray]

PRECISIONS = ("float64", "float32", "tf32", "bfloat16")
BLOCK = 512
FEW = 2  # rows are kept as they are, before they are squared, up to 1 / FEW of the columns


class Statistics:
    """Gram matrix ``A'A``, class sums ``A'Y`` and class counts of a stream of batches.

    Sums are float64, and so are products unless told otherwise: the rounding of float32 products
    is not small beside the ridge, and would make the weights depend on the order of tasks. Only
    the blocks on and above the diagonal are multiplied; `gram` mirrors them.

    Parameters
    ----------
    dimension
        Number of columns of A.
    device
        Where the sums live.
    precision
        Of the products: ``"float64"``, ``"float32"``, or on a GPU ``"tf32"`` and ``"bfloat16"``.

    Examples
    --------
    >>> seen = Statistics(2).add(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), np.array(["cat", "dog"]))
    >>> seen.gram
    tensor([[10., 14.],
            [14., 20.]], dtype=torch.float64)
    >>> seen.counts
    {'cat': 1, 'dog': 1}
    """

    def __init__(
        self, dimension: int, device: torch.device | str = "cpu", precision: str = "float64"
    ) -> None:
        self.dimension = dimension
        self.device = torch.device(device)
        self.precision = precision
        self.sums: dict[Label, Tensor] = {}
        self.counts: dict[Label, int] = {}
        self._waiting: list[Tensor] = []
        self._gram: Tensor | None = None

    def add(self, A: Tensor, y: np.ndarray) -> Statistics:
        """Add one batch."""
        A = A.double() if self.precision == "float64" else A.float()
        labels, codes = np.unique(y, return_inverse=True)
        one_hot = torch.zeros(len(y), len(labels), dtype=A.dtype, device=A.device)
        one_hot[torch.arange(len(y)), torch.as_tensor(codes, device=A.device)] = 1
        for label, total, count in zip(
            labels.tolist(), (A.T @ one_hot).double().T, np.bincount(codes), strict=True
        ):
            self.sums[label] = self.sums.get(label, 0.0) + total
            self.counts[label] = self.counts.get(label, 0) + int(count)
        if sum(map(len, [*self._waiting, A])) <= self.dimension // FEW:
            self._waiting.append(A.clone())
        else:
            self._waiting.append(A)
            self._square()
        return self

    def set(self, gram: Tensor, cross: Tensor, counts: dict[Label, int]) -> None:
        """Take over sums made elsewhere; `cross` has one column for each label of `counts`."""
        self._gram, self._waiting = gram, []
        self.sums = dict(zip(counts, cross.T, strict=True))
        self.counts = dict(counts)

    @property
    def rows(self) -> Tensor | None:
        """All rows of A while they are few, for those who can do without their Gram matrix."""
        if self._gram is not None or self.precision != "float64" or not self._waiting:
            return None
        return torch.cat(self._waiting)

    @property
    def gram(self) -> Tensor:
        """``A'A``, float64."""
        return mirror(self._square())

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

    def _square(self) -> Tensor:
        """Add what waits to the upper half of the Gram matrix."""
        if self._gram is None:
            size = self.dimension
            self._gram = torch.zeros(size, size, dtype=torch.float64, device=self.device)
        if self._waiting:
            rows = self._waiting[0] if len(self._waiting) == 1 else torch.cat(self._waiting)
            add_products(self._gram, rows, self.precision)
            self._waiting = []
        return self._gram


def add_products(gram: Tensor, A: Tensor, precision: str = "float64") -> None:
    """Add the blocks of ``A'A`` on and above the diagonal to those of `gram`."""
    A = A.to(getattr(torch, precision.replace("tf32", "float32")))
    block = _block(gram)
    with _tf32(precision == "tf32"):
        for start in range(0, len(gram), block):
            rows, part = A[:, start : start + block].T, gram[start : start + block, start:]
            if A.dtype == gram.dtype:
                part.addmm_(rows, A[:, start:])
            elif A.dtype == torch.bfloat16 and A.is_cuda:
                part += torch.mm(rows, A[:, start:], out_dtype=torch.float32)
            else:
                part += rows.float() @ A[:, start:].float()


def with_products(gram: Tensor, A: Tensor) -> Tensor:
    """Return ``gram + A'A`` for few rows A, and leave `gram` as it is."""
    if len(A) < len(gram) // 16:  # moving numbers takes longer than multiplying them twice
        return torch.addmm(gram, A.T, A)
    total = torch.empty_like(gram)
    block = _block(gram)
    for start in range(0, len(gram), block):
        rows = slice(start, start + block)
        total[rows, start:] = torch.addmm(gram[rows, start:], A[:, rows].T, A[:, start:])
    return mirror(total)


def mirror(gram: Tensor) -> Tensor:
    """Copy the blocks above the diagonal to those below, in place."""
    block = _block(gram)
    for start in range(block, len(gram), block):
        rows = slice(start, start + block)
        gram[rows, :start] = gram[:start, rows].T
    return gram


def _block(gram: Tensor) -> int:
    return max(BLOCK, len(gram) // 16)


@contextlib.contextmanager
def _tf32(allowed: bool) -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if allowed else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
