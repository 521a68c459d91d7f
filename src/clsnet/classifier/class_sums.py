"""Sums of rows by class, for any number of classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clsnet.arrays.devices import Array, Device, is_torch, library, namespace
from clsnet.arrays.linalg import contiguous, double, indices, product, take

FEW = 32  # classes in a batch, up to which a product with their labels is the fastest sum


class ClassSums:
    """One row of sums for each class, in the order in which classes come; float64.

    Rows are added by index, so that a batch costs the same with ten classes and with a hundred
    thousand. There are rows to spare: sums move to another place only now and then.

    Examples
    --------
    >>> sums = ClassSums(2, "cpu")
    >>> A = np.array([[1.0, 2.0], [0.0, 5.0], [3.0, 4.0]])
    >>> sums.add(["cat", "dog"], np.array([0, 1, 0]), A)
    >>> sums.columns(["dog", "cow", "cat"])
    array([[0., 0., 4.],
           [5., 0., 6.]])
    """

    def __init__(self, dimension: int, device: Device) -> None:
        self.dimension, self.device = dimension, device
        self.place: dict[object, int] = {}
        self._sums = self._zeros(0)

    def add(
        self, labels: Sequence[object], codes: np.ndarray, A: Array, root: Array | None = None
    ) -> None:
        """Add rows to the sums of their classes.

        Parameters
        ----------
        labels, codes
            The classes of a batch, and which of them each row has.
        A
            The rows, each times the root of its weight.
        root
            The roots of weights, if there are any.
        """
        own = self._places(labels)
        xp = namespace(A)
        if len(own) <= FEW:
            places = indices(own, self.device)
            one_hot = xp.astype(places[:, None] == take(places, codes), A.dtype)
            self._sums[places] += double(product(one_hot if root is None else root * one_hot, A))
            return
        rows = A if root is None else root[:, None] * A
        if is_torch(A):
            self._sums.index_add_(0, indices(own[codes], self.device), double(rows))
            return
        for place, row in zip(own[codes].tolist(), rows, strict=True):
            self._sums[place] += row

    def add_sums(self, labels: Sequence[object], sums: Array) -> None:
        """Add the sums of classes, one row each."""
        own = indices(self._places(labels), self.device)
        self._sums[own] += sums

    def set(self, labels: Sequence[object], columns: Array) -> None:
        """Take over sums made elsewhere, one column for each class."""
        self.place = {label: i for i, label in enumerate(labels)}
        self._sums = namespace(columns).asarray(columns.T, copy=True)

    def rows(self, labels: Sequence[object]) -> Array:
        """Return one row per label; zero for a class that was not seen."""
        known = [i for i, label in enumerate(labels) if label in self.place]
        found = take(self._sums, [self.place[labels[i]] for i in known])
        if len(known) == len(labels):
            return found
        every = self._zeros(len(labels))
        every[indices(known, self.device)] = found
        return every

    def columns(self, labels: Sequence[object]) -> Array:
        """Return one column per label, in C order; zero for a class that was not seen."""
        return contiguous(self.rows(labels).T)

    def _places(self, labels: Sequence[object]) -> np.ndarray:
        """Return the rows of classes; there is one for each."""
        own = np.array([self.place.setdefault(label, len(self.place)) for label in labels], int)
        there, wanted = len(self._sums), len(self.place)
        if wanted > there:
            more = self._zeros(max(wanted - there, there // 2 if there > FEW else 0))
            self._sums = library(self.device).concat([self._sums, more])
        return own

    def _zeros(self, n_rows: int) -> Array:
        xp = library(self.device)
        return xp.zeros((n_rows, self.dimension), dtype=xp.float64, device=self.device)
