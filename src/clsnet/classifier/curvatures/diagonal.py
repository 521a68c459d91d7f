"""The diagonal curvature: the paper's plasticity of each class."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from clsnet.arrays.devices import Array, namespace
from clsnet.classifier.curvatures.base import Trace, columns, union, zero_column
from clsnet.classifier.solvers import System
from clsnet.classifier.sums import Label


class DiagonalTrace(Trace):
    """The paper's plasticity F_t (Eq. myEFIM): one diagonal per class.

    `phantom` is the plasticity of a class that has no weights yet. A class that appears later
    inherits it: nothing else would keep its column from answering to old data, and the number of
    classes to come is not known.
    """

    def __init__(
        self,
        labels: list[Label],
        plasticity: Array,
        pull: Array,
        phantom: Array,
        n_samples: float,
    ) -> None:
        self.labels, self.plasticity, self.pull, self.phantom = labels, plasticity, pull, phantom
        self.n_samples = n_samples

    def add_to(self, system: System, labels: Sequence[Label], gamma: float) -> None:
        """Add ``gamma K_{t,c}`` and ``gamma K_{t,c} Omega_{t,c}`` (Eq. combination)."""
        if system.diagonal is None:
            system.diagonal = namespace(system.rhs).zeros_like(system.rhs)
        system.diagonal += gamma * self._plasticity(labels)
        system.rhs += gamma * self._pull(labels)

    def merge(self, other: Trace, gamma: float = 1.0) -> DiagonalTrace:
        """Sum the diagonals class by class."""
        assert isinstance(other, DiagonalTrace)
        labels = union(self.labels, other.labels)
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

    @staticmethod
    def shapes(dimension: int, n_labels: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of `arrays`."""
        return {
            "plasticity": (dimension, n_labels),
            "pull": (dimension, n_labels),
            "phantom": (dimension,),
        }

    def arrays(self) -> dict[str, Array]:
        """Return the diagonals, their products with Omega_t, and the phantom's diagonal."""
        return {"plasticity": self.plasticity, "pull": self.pull, "phantom": self.phantom}

    def _plasticity(self, labels: Sequence[Label]) -> Array:
        return columns(self.plasticity, self.labels, labels, fill=self.phantom)

    def _pull(self, labels: Sequence[Label]) -> Array:
        return columns(self.pull, self.labels, labels, fill=zero_column(self.pull))
