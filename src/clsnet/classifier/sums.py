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
BLOCK = 256
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
        self.counts: dict[Label, int] = {}
        self._sums = torch.zeros(0, dimension, dtype=torch.float64, device=self.device)
        self._waiting: list[Tensor] = []
        self._gram: Tensor | None = None

    def add(self, A: Tensor, y: np.ndarray) -> Statistics:
        """Add one batch."""
        A = A.double() if self.precision == "float64" else A.float()
        labels, codes = np.unique(y, return_inverse=True)
        for label, count in zip(labels.tolist(), np.bincount(codes).tolist(), strict=True):
            self.counts[label] = self.counts.get(label, 0) + count
        place = {label: i for i, label in enumerate(self.counts)}
        if len(place) > len(self._sums):
            new = self._sums.new_zeros(len(place) - len(self._sums), self.dimension)
            self._sums = torch.cat([self._sums, new])
        own = indices([place[label] for label in labels.tolist()], self.device)
        one_hot = own[:, None] == take(own, codes)
        self._sums.index_add_(0, own, (one_hot.to(A) @ A).double())
        if sum(map(len, [*self._waiting, A])) <= self.dimension // FEW:
            self._waiting.append(A.clone())
        else:
            self._waiting.append(A)
            self._square()
        return self

    def set(self, gram: Tensor, cross: Tensor, counts: dict[Label, int]) -> None:
        """Take over sums made elsewhere; `cross` has one column for each label of `counts`."""
        self._gram, self._waiting = gram, []
        self._sums = cross.T.clone()
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
    def finite(self) -> bool:
        """Whether no sum has become too large to be told from infinity."""
        rows = self.rows
        squares = self._square().diagonal() if rows is None else rows.square()
        return bool(torch.isfinite(self.n_samples * squares.sum()))

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
        place = {label: i for i, label in enumerate(self.counts)}
        none = self._sums.new_zeros(1, self.dimension)
        rows = [place.get(label, len(place)) for label in labels]
        return take(torch.cat([self._sums, none]), rows).T.contiguous()

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


def indices(numbers: np.ndarray | list[int], device: torch.device) -> Tensor:
    """Return indices on a device, without waiting for what a GPU still has to do."""
    return torch.as_tensor(numbers, dtype=torch.long).to(device, non_blocking=True)


def take(A: Tensor, rows: np.ndarray | list[int]) -> Tensor:
    """Return some rows."""
    return A[indices(rows, A.device)]


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
                part += _bfloat16_product(rows, A[:, start:])
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
    """Copy what is above the diagonal to below it, in place.

    Within the blocks on the diagonal too: not every processor rounds ``a'b`` as ``b'a``.
    """
    block = _block(gram)
    for start in range(0, len(gram), block):
        rows = slice(start, start + block)
        gram[rows, :start] = gram[:start, rows].T
        own = gram[rows, rows]
        own.copy_(own.triu() + own.triu(1).T)
    return gram


def upper(gram: Tensor) -> Iterator[Tensor]:
    """Yield the blocks on and above the diagonal, as views."""
    block = _block(gram)
    return (gram[start : start + block, start:] for start in range(0, len(gram), block))


def _block(gram: Tensor) -> int:
    return max(BLOCK, len(gram) // 8)


def _bfloat16_product(a: Tensor, b: Tensor) -> Tensor:
    """Return the product in float32, which not every version of torch and GPU can sum up so."""
    try:
        return torch.mm(a, b, out_dtype=torch.float32)
    except (TypeError, RuntimeError):
        return a.float() @ b.float()


@contextlib.contextmanager
def _tf32(allowed: bool) -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if allowed else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
