"""The low-rank curvature: leading directions of a task's Gram matrix."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from clsnet.arrays.devices import Array, namespace
from clsnet.arrays.linalg import diagonal, eigh, left_singular
from clsnet.classifier.curvatures.base import Trace, columns, union, zero_column
from clsnet.classifier.curvatures.full import FullTrace
from clsnet.classifier.solvers import System
from clsnet.classifier.sums import Label


class LowRankTrace(Trace):
    """The leading eigenvectors of ``A_t'A_t``, scaled, and the diagonal of the rest."""

    def __init__(
        self, labels: list[Label], factor: Array, rest: Array, pull: Array, n_samples: float
    ) -> None:
        self.labels, self.factor, self.rest, self.pull = labels, factor, rest, pull
        self.n_samples = n_samples

    @classmethod
    def of(cls, full: FullTrace, omega: Array, rank: int, ridge: float = 0.0) -> LowRankTrace:
        """Compress a task's curvature around its declarative parameters `omega`.

        These were shrunk by a ridge, which the pull makes up for: with all directions kept it is
        ``A'Y`` again.
        """
        xp = namespace(omega)
        values, vectors = eigh(full.gram)
        factor = vectors[:, -rank:] * xp.clip(values[-rank:], min=0) ** 0.5
        rest = xp.clip(diagonal(full.gram) - xp.sum(factor**2, axis=1), min=0)
        pull = factor @ (factor.T @ omega) + (rest[:, None] + ridge) * omega
        return cls(full.labels, factor, rest, pull, full.n_samples)

    def add_to(self, system: System, labels: Sequence[Label], gamma: float) -> None:
        """Add ``gamma (U U' + diag)`` and its product with Omega_t."""
        system.shared += gamma * (self.factor @ self.factor.T)
        own = diagonal(system.shared)
        own += gamma * self.rest
        system.rhs += gamma * self._pull(labels)

    def merge(self, other: Trace, gamma: float = 1.0) -> LowRankTrace:
        """Sum both and compress again to the larger rank."""
        assert isinstance(other, LowRankTrace)
        xp = namespace(self.factor)
        rank = max(self.factor.shape[1], other.factor.shape[1])
        scaled = left_singular(xp.concat([self.factor, gamma**0.5 * other.factor], axis=1))
        rest = self.rest + gamma * other.rest + xp.sum(scaled[:, rank:] ** 2, axis=1)
        labels = union(self.labels, other.labels)
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

    @staticmethod
    def shapes(dimension: int, n_labels: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of `arrays`."""
        return {"factor": (dimension, -1), "rest": (dimension,), "pull": (dimension, n_labels)}

    def arrays(self) -> dict[str, Array]:
        """Return the factor, the diagonal, and their product with Omega_t."""
        return {"factor": self.factor, "rest": self.rest, "pull": self.pull}

    def _pull(self, labels: Sequence[Label]) -> Array:
        return columns(self.pull, self.labels, labels, fill=zero_column(self.pull))
