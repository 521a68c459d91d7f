"""What is kept of learned data: a quadratic around its declarative parameters.

Every trace stands for ``1/2 (Omega - Omega_t)' H_t (Omega - Omega_t)``; they differ in how much of
the Hessian ``H_t = A_t'A_t`` they keep: all, its leading directions, or a diagonal per class.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence

import torch
from torch import Tensor

from clsnet.classifier.solvers import System
from clsnet.classifier.ridge.spectrum import SPAN
from clsnet.classifier.sums import (
    FEW,
    Label,
    Statistics,
    add_products,
    mirror,
    with_products,
)


class Trace(ABC):
    """A remembered quadratic; traces add up, weighted by their trade-off gamma."""

    labels: list[Label]
    n_samples: float

    @abstractmethod
    def add_to(self, system: System, labels: Sequence[Label], gamma: float) -> None:
        """Add ``gamma H_t`` and ``gamma H_t Omega_t`` to a system with a column per label."""

    @abstractmethod
    def merge(self, other: Trace, gamma: float = 1.0) -> Trace:
        """Return the trace of ``self + gamma other``."""

    @abstractmethod
    def times(self, gamma: float) -> Trace:
        """Return the trace of ``gamma self``."""

    @abstractmethod
    def without(self, labels: Collection[Label]) -> Trace:
        """Return the trace without the columns of `labels`; the shared curvature stays."""

    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """Return everything that is kept, by name."""

    @property
    def dense(self) -> Trace:
        """The same in the form to which further samples are added at the same cost for ever."""
        return self


def _columns(matrix: Tensor, own: Sequence[Label], wanted: Sequence[Label], fill: Tensor) -> Tensor:
    """Columns of `matrix` in the order of `wanted`; `fill` where a label is not among `own`."""
    position = {label: i for i, label in enumerate(own)}
    columns = [matrix[:, position[label]] if label in position else fill for label in wanted]
    return torch.stack(columns, dim=1) if columns else matrix[:, :0]


def _union(a: Sequence[Label], b: Sequence[Label]) -> list[Label]:
    return list(dict.fromkeys([*a, *b]))


class FullTrace(Trace):
    """The exact Hessian ``A_t'A_t`` and ``A_t'Y_t``: the Laplace approximation without the error.

    One matrix serves all classes. A class that appears later needs nothing: its targets on old
    data are zero, and so is its column.
    """

    def __init__(self, labels: list[Label], gram: Tensor, cross: Tensor, n_samples: float) -> None:
        self.labels, self.gram, self.cross, self.n_samples = labels, gram, cross, n_samples

    @staticmethod
    def of(seen: Statistics) -> FullTrace:
        """Keep the statistics of a task as they are."""
        labels, n_samples = seen.labels, seen.n_samples
        if seen.rows is not None:
            return FewSamples(labels, trapezoid(seen.rows), seen.cross(labels), n_samples)
        return FullTrace(labels, seen.gram, seen.cross(labels), n_samples)

    def add_to(self, system: System, labels: Sequence[Label], gamma: float) -> None:
        """Add ``gamma A'A`` and ``gamma A'Y``."""
        system.shared.add_(self.gram, alpha=gamma)
        system.rhs.add_(self.columns(labels), alpha=gamma)

    def merge(self, other: Trace, gamma: float = 1.0) -> FullTrace:
        """Sum both matrices."""
        assert isinstance(other, FullTrace)
        labels = _union(self.labels, other.labels)
        cross = self.columns(labels) + gamma * other.columns(labels)
        gram = other.added_to(self.gram, gamma)
        return FullTrace(labels, gram, cross, self.n_samples + gamma * other.n_samples)

    def added_to(self, gram: Tensor, gamma: float) -> Tensor:
        """Return ``gram + gamma A'A``."""
        return torch.add(gram, self.gram, alpha=gamma)

    def times(self, gamma: float) -> FullTrace:
        """Scale both matrices."""
        return FullTrace(self.labels, gamma * self.gram, gamma * self.cross, gamma * self.n_samples)

    def without(self, labels: Collection[Label]) -> FullTrace:
        """Drop columns of ``A'Y``."""
        kept = [label for label in self.labels if label not in labels]
        return FullTrace(kept, self.gram, self.columns(kept), self.n_samples)

    def tensors(self) -> dict[str, Tensor]:
        """Return both sums."""
        return {"gram": self.gram, "cross": self.cross}

    def columns(self, labels: Sequence[Label]) -> Tensor:
        """``A'Y`` with one column per label; zero for a class that was not seen."""
        return _columns(self.cross, self.labels, labels, self.cross.new_zeros(len(self.cross)))


class FewSamples(FullTrace):
    """Few samples: `rows` is an upper trapezoidal factor R of their Gram matrix, ``R'R = A'A``.

    It takes less room than the matrix, tells exactly as much, and holds no sample's row.
    """

    def __init__(self, labels: list[Label], rows: Tensor, cross: Tensor, n_samples: float) -> None:
        self.labels, self.rows, self.cross, self.n_samples = labels, rows, cross, n_samples

    @functools.cached_property
    def gram(self) -> Tensor:  # type: ignore[override]
        """``A'A``."""
        size = self.rows.shape[1]
        return with_products(self.rows.new_zeros(size, size), self.rows)

    @property
    def dense(self) -> FullTrace:
        """The Gram matrix itself."""
        return FullTrace(self.labels, self.gram, self.cross, self.n_samples)

    def add_to(self, system: System, labels: Sequence[Label], gamma: float) -> None:
        """Add ``gamma A'A`` and ``gamma A'Y``."""
        system.shared.addmm_(self.rows.T, self.rows, alpha=gamma)
        system.rhs.add_(self.columns(labels), alpha=gamma)

    def merge(self, other: Trace, gamma: float = 1.0) -> FullTrace:
        """Factorise the rows of both, or sum both matrices if these are no longer few."""
        most = self.rows.shape[1] // FEW
        if not isinstance(other, FewSamples) or len(self.rows) + len(other.rows) > most:
            return self.dense.merge(other, gamma)
        labels = _union(self.labels, other.labels)
        rows = trapezoid(torch.cat([self.rows, gamma**0.5 * other.rows]))
        cross = self.columns(labels) + gamma * other.columns(labels)
        return FewSamples(labels, rows, cross, self.n_samples + gamma * other.n_samples)

    def added_to(self, gram: Tensor, gamma: float) -> Tensor:
        """Return ``gram + gamma A'A``."""
        return with_products(gram, gamma**0.5 * self.rows)

    def times(self, gamma: float) -> FewSamples:
        """Scale the factor and the sums."""
        rows, cross = gamma**0.5 * self.rows, gamma * self.cross
        return FewSamples(self.labels, rows, cross, gamma * self.n_samples)

    def without(self, labels: Collection[Label]) -> FewSamples:
        """Drop columns of ``A'Y``."""
        kept = [label for label in self.labels if label not in labels]
        return FewSamples(kept, self.rows, self.columns(kept), self.n_samples)

    def tensors(self) -> dict[str, Tensor]:
        """Return the factor and the sums."""
        return {"rows": self.rows, "cross": self.cross}


def trapezoid(A: Tensor) -> Tensor:
    """Return the upper trapezoidal R with ``R'R = A'A`` that follows from this product alone.

    Where leading columns depend on each other there are many such R, and a plain factorisation
    can leave rows of A as they are. A fixed mixture of all columns then says which R it is.

    Examples
    --------
    >>> trapezoid(torch.tensor([[0.0, 5.0, 1.0], [-2.0, 2.0, 3.0]])).round(decimals=4)
    tensor([[ 2., -2., -3.],
            [ 0.,  5.,  1.]])
    """
    R = torch.linalg.qr(A, mode="r").R
    pivots = R.diagonal().abs()
    if pivots.min() <= len(A) * torch.finfo(A.dtype).eps * pivots.max():
        drawn = torch.randn(A.shape[1], len(A), generator=torch.Generator().manual_seed(0))
        mixed = torch.cat([A @ drawn.to(A), A], dim=1)
        R = torch.linalg.qr(mixed, mode="r").R
        R = _positive(R)[:, len(A) :]
        R = torch.linalg.qr(R, mode="r").R
    return _positive(R)


def _positive(R: Tensor) -> Tensor:
    return torch.where(R.diagonal() < 0, -1.0, 1.0).to(R)[:, None] * R


def total(traces: Sequence[FullTrace]) -> FullTrace:
    """Return the sum of full traces, all their rows multiplied together."""
    if len(traces) == 1:
        return traces[0]
    labels = list(dict.fromkeys(label for trace in traces for label in trace.labels))
    column = {label: i for i, label in enumerate(labels)}
    size = len(traces[0].cross)
    cross = traces[0].cross.new_zeros(size, len(labels))
    for trace in traces:
        cross[:, [column[label] for label in trace.labels]] += trace.cross
    n_samples = sum(trace.n_samples for trace in traces)
    if few := few_together(traces):
        return FewSamples(labels, torch.cat([trace.rows for trace in few]), cross, n_samples)
    gram = traces[0].cross.new_zeros(size, size)
    waiting: list[Tensor] = []
    for trace in traces:
        if not isinstance(trace, FewSamples):
            gram += trace.gram
            continue
        waiting.append(trace.rows)
        if sum(map(len, waiting)) >= size:
            add_products(gram, torch.cat(waiting))
            waiting = []
    if waiting:
        add_products(gram, torch.cat(waiting))
    return FullTrace(labels, mirror(gram), cross, n_samples)


def few_together(traces: Sequence[Trace], part: int = SPAN) -> list[FewSamples]:
    """Return all traces if their rows together are at most a `part`-th as many as columns."""
    few = [trace for trace in traces if isinstance(trace, FewSamples)]
    if len(few) < len(traces):
        return []
    n_rows = sum(len(trace.rows) for trace in few)
    return few if n_rows <= few[0].rows.shape[1] // part else []


class LowRankTrace(Trace):
    """The leading eigenvectors of ``A_t'A_t``, scaled, and the diagonal of the rest."""

    def __init__(
        self, labels: list[Label], factor: Tensor, rest: Tensor, pull: Tensor, n_samples: float
    ) -> None:
        self.labels, self.factor, self.rest, self.pull = labels, factor, rest, pull
        self.n_samples = n_samples

    @classmethod
    def of(cls, full: FullTrace, omega: Tensor, rank: int, ridge: float = 0.0) -> LowRankTrace:
        """Compress a task's curvature around its declarative parameters `omega`.

        These were shrunk by a ridge, which the pull makes up for: with all directions kept it is
        ``A'Y`` again.
        """
        values, vectors = torch.linalg.eigh(full.gram)
        factor = vectors[:, -rank:] * values[-rank:].clamp_min(0).sqrt()
        rest = (full.gram.diagonal() - factor.square().sum(dim=1)).clamp_min(0)
        pull = factor @ (factor.T @ omega) + (rest[:, None] + ridge) * omega
        return cls(full.labels, factor, rest, pull, full.n_samples)

    def add_to(self, system: System, labels: Sequence[Label], gamma: float) -> None:
        """Add ``gamma (U U' + diag)`` and its product with Omega_t."""
        system.shared.addmm_(self.factor, self.factor.T, alpha=gamma)
        system.shared.diagonal().add_(self.rest, alpha=gamma)
        system.rhs.add_(self._pull(labels), alpha=gamma)

    def merge(self, other: Trace, gamma: float = 1.0) -> LowRankTrace:
        """Sum both and compress again to the larger rank."""
        assert isinstance(other, LowRankTrace)
        rank = max(self.factor.shape[1], other.factor.shape[1])
        both = torch.cat([self.factor, gamma**0.5 * other.factor], dim=1)
        u, s, _ = torch.linalg.svd(both, full_matrices=False)
        scaled = u * s
        rest = self.rest + gamma * other.rest + scaled[:, rank:].square().sum(dim=1)
        labels = _union(self.labels, other.labels)
        pull = self._pull(labels) + gamma * other._pull(labels)
        n_samples = self.n_samples + gamma * other.n_samples
        return LowRankTrace(labels, scaled[:, :rank], rest, pull, n_samples)

    def times(self, gamma: float) -> LowRankTrace:
        """Scale the curvature and its pull."""
        factor, rest, pull = gamma**0.5 * self.factor, gamma * self.rest, gamma * self.pull
        return LowRankTrace(self.labels, factor, rest, pull, gamma * self.n_samples)

    def without(self, labels: Collection[Label]) -> LowRankTrace:
        """Drop columns of the pull."""
        kept = [label for label in self.labels if label not in labels]
        return LowRankTrace(kept, self.factor, self.rest, self._pull(kept), self.n_samples)

    def tensors(self) -> dict[str, Tensor]:
        """Return the factor, the diagonal, and their product with Omega_t."""
        return {"factor": self.factor, "rest": self.rest, "pull": self.pull}

    def _pull(self, labels: Sequence[Label]) -> Tensor:
        return _columns(self.pull, self.labels, labels, torch.zeros_like(self.rest))


class DiagonalTrace(Trace):
    """The paper's plasticity F_t (Eq. myEFIM): one diagonal per class.

    `phantom` is the plasticity of a class that has no weights yet. A class that appears later
    inherits it, for nothing else would keep its column from answering to old data, and nobody can
    know ahead how many classes will come.
    """

    def __init__(
        self,
        labels: list[Label],
        plasticity: Tensor,
        pull: Tensor,
        phantom: Tensor,
        n_samples: float,
    ) -> None:
        self.labels, self.plasticity, self.pull, self.phantom = labels, plasticity, pull, phantom
        self.n_samples = n_samples

    def add_to(self, system: System, labels: Sequence[Label], gamma: float) -> None:
        """Add ``gamma K_{t,c}`` and ``gamma K_{t,c} Omega_{t,c}`` (Eq. combination)."""
        if system.diagonal is None:
            system.diagonal = torch.zeros_like(system.rhs)
        system.diagonal.add_(self._plasticity(labels), alpha=gamma)
        system.rhs.add_(self._pull(labels), alpha=gamma)

    def merge(self, other: Trace, gamma: float = 1.0) -> DiagonalTrace:
        """Sum the diagonals class by class."""
        assert isinstance(other, DiagonalTrace)
        labels = _union(self.labels, other.labels)
        return DiagonalTrace(
            labels,
            self._plasticity(labels) + gamma * other._plasticity(labels),
            self._pull(labels) + gamma * other._pull(labels),
            self.phantom + gamma * other.phantom,
            self.n_samples + gamma * other.n_samples,
        )

    def times(self, gamma: float) -> DiagonalTrace:
        """Scale every diagonal."""
        return DiagonalTrace(
            self.labels,
            gamma * self.plasticity,
            gamma * self.pull,
            gamma * self.phantom,
            gamma * self.n_samples,
        )

    def without(self, labels: Collection[Label]) -> DiagonalTrace:
        """Drop the classes' diagonals."""
        kept = [label for label in self.labels if label not in labels]
        plasticity, pull = self._plasticity(kept), self._pull(kept)
        return DiagonalTrace(kept, plasticity, pull, self.phantom, self.n_samples)

    def tensors(self) -> dict[str, Tensor]:
        """Return the diagonals, their products with Omega_t, and the phantom's diagonal."""
        return {"plasticity": self.plasticity, "pull": self.pull, "phantom": self.phantom}

    def _plasticity(self, labels: Sequence[Label]) -> Tensor:
        return _columns(self.plasticity, self.labels, labels, self.phantom)

    def _pull(self, labels: Sequence[Label]) -> Tensor:
        return _columns(self.pull, self.labels, labels, torch.zeros_like(self.phantom))


TRACES: dict[str, Callable[..., Trace]] = {
    "full": FullTrace,
    "low-rank": LowRankTrace,
    "diagonal": DiagonalTrace,
}
