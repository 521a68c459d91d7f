"""What is kept of learned data: a quadratic around its declarative parameters."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Self

from clsnet.arrays.devices import Array, device_of, namespace
from clsnet.arrays.linalg import indices
from clsnet.classifier.solvers import System
from clsnet.classifier.sums import Label


class Trace(ABC):
    """A remembered quadratic, ``1/2 (Omega - Omega_t)' H_t (Omega - Omega_t)``.

    Traces differ in how much of the Hessian ``H_t = A_t'A_t`` they keep: all of it, its leading
    directions, or a diagonal per class. They add up, weighted by their trade-off gamma.
    """

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

    def renamed(self, names: Mapping[Label, Label]) -> Self:
        """Return the trace with new labels for old ones."""
        twin = copy.copy(self)
        twin.labels = [names.get(label, label) for label in self.labels]
        return twin

    @staticmethod
    @abstractmethod
    def shapes(dimension: int, n_labels: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of what is kept, by name; -1 is any length."""

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """Return everything that is kept, by name."""

    @property
    def dense(self) -> Trace:
        """The same in a form of constant size, to which any number of samples can be added."""
        return self


def columns(matrix: Array, own: Sequence[Label], wanted: Sequence[Label], fill: Array) -> Array:
    """Return columns of `matrix` in the order of `wanted`.

    Parameters
    ----------
    matrix
        One column for each label of `own`.
    own, wanted
        Labels.
    fill
        The column of a label that is not among `own`.
    """
    if list(own) == list(wanted):
        return matrix
    position = {label: i for i, label in enumerate(own)}
    xp, device = namespace(matrix), device_of(matrix)
    places = indices([position.get(label, -1) for label in wanted], device)
    kept = matrix if own else fill[:, None]
    found = xp.take(kept, xp.clip(places, min=0), axis=1)
    missing = places < 0
    if bool(xp.any(missing)):
        found[:, missing] = fill[:, None]
    return found


def zero_column(matrix: Array) -> Array:
    """Return a column of zeros, as long as those of `matrix`."""
    xp = namespace(matrix)
    return xp.zeros(matrix.shape[0], dtype=matrix.dtype, device=device_of(matrix))


def union(a: Sequence[Label], b: Sequence[Label]) -> list[Label]:
    """Return the labels of both, in the order in which they come.

    Examples
    --------
    >>> union(["cat", "dog"], ["cow", "cat"])
    ['cat', 'dog', 'cow']
    """
    return list(dict.fromkeys([*a, *b]))
