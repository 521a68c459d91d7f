"""What one pass over a task leaves behind: sums of products, never a sample."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from clsnet.arrays.devices import CPU, Array, Device, library, namespace, to_device
from clsnet.arrays.gram import add_gram, mirror
from clsnet.arrays.linalg import diagonal
from clsnet.classifier.class_sums import ClassSums

Label = Hashable
Batch = tuple[Array, ...]  # representations, their labels, and weights if there are any

TOO_LARGE = "these samples hold values too large to be squared; scale them down."
PRECISIONS = ("float64", "float32", "tf32", "bfloat16")
FEW = 2  # rows are kept as they are, before they are multiplied, up to 1 / FEW of the columns


class RunningSums:
    """Gram matrix ``A'A``, class sums ``A'Y`` and class counts of a stream of batches.

    A sample of weight w counts as w equal samples: with W the diagonal matrix of weights, the sums
    are ``A'WA`` and ``A'WY``. `counts` are numbers of samples, `weights` their sums of weights.

    Sums are float64, and so are products unless another precision is chosen: the rounding of
    float32 products is not small beside the ridge, and would make the weights depend on the order
    of tasks. Only the upper triangle is multiplied; `gram` mirrors it.

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
    >>> seen = RunningSums(2).add(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array(["cat", "dog"]))
    >>> seen.gram
    array([[10., 14.],
           [14., 20.]])
    >>> seen.counts
    {'cat': 1, 'dog': 1}
    """

    def __init__(self, dimension: int, device: Device = CPU, precision: str = "float64") -> None:
        self.dimension = dimension
        self.device = device
        self.precision = precision
        self.counts: dict[Label, int] = {}
        self.weights: dict[Label, float] = {}
        self._classes = ClassSums(dimension, device)
        self._pending: list[Array] = []
        self._gram: Array | None = None
        self._scratch: Array | None = None

    @np.errstate(over="ignore", invalid="ignore")  # `finite` tells
    def add(self, A: Array, y: np.ndarray, weights: np.ndarray | None = None) -> RunningSums:
        """Add one batch.

        Parameters
        ----------
        A, y
            Representations and their labels.
        weights
            How much each sample counts; 1 if there are none.
        """
        xp = namespace(A)
        A = xp.astype(A, xp.float64 if self.precision == "float64" else xp.float32, copy=False)
        labels, codes = np.unique(y, return_inverse=True)
        counts = np.bincount(codes)
        if weights is not None and bool(np.all(weights == 1)):
            weights = None
        totals = counts if weights is None else np.bincount(codes, weights)
        for label, n, total in zip(*map(np.ndarray.tolist, (labels, counts, totals)), strict=True):
            self.counts[label] = self.counts.get(label, 0) + n
            self.weights[label] = self.weights.get(label, 0) + total
        root: Array | None = None
        if weights is not None:
            root = xp.astype(to_device(weights**0.5, self.device), A.dtype, copy=False)
            A = root[:, None] * A
        self._classes.add(labels.tolist(), codes, A, root)
        if sum(map(len, [*self._pending, A])) <= self.dimension // FEW:
            self._pending.append(xp.asarray(A, copy=True))
        else:
            self._pending.append(A)
            self._multiply()
        return self

    def set(
        self,
        gram: Array,
        cross: Array,
        counts: dict[Label, int],
        weights: dict[Label, float] | None = None,
    ) -> None:
        """Take over sums made elsewhere; `cross` has one column for each label of `counts`."""
        self._gram, self._pending = gram, []
        self._classes.set(list(counts), cross)
        self.counts = dict(counts)
        self.weights = dict(counts if weights is None else weights)

    @property
    def rows(self) -> Array | None:
        """All rows of A while they are few, for those who can do without their Gram matrix."""
        if self._gram is not None or self.precision != "float64" or not self._pending:
            return None
        return library(self.device).concat(self._pending)

    @property
    def gram(self) -> Array:
        """``A'A``, float64."""
        return mirror(self.upper)

    @property
    def upper(self) -> Array:
        """``A'A`` of which only the upper triangle has a meaning."""
        upper = self._multiply()
        self._scratch = None
        return upper

    @property
    @np.errstate(over="ignore", invalid="ignore")
    def finite(self) -> bool:
        """Whether no sum has overflowed."""
        rows, xp = self.rows, library(self.device)
        squares = diagonal(self._multiply()) if rows is None else rows**2
        return bool(xp.isfinite(self.n_samples * xp.sum(squares)))

    @property
    def n_samples(self) -> float:
        """Samples seen, each as often as it weighs."""
        return sum(self.weights.values())

    @property
    def labels(self) -> list[Label]:
        """Classes seen, sorted."""
        return sorted(self.counts)  # type: ignore[type-var]

    def cross(self, labels: Iterable[Label]) -> Array:
        """``A'Y`` with one column per label; zero for a class that was not seen."""
        return self._classes.columns(list(labels))

    def _multiply(self) -> Array:
        """Add the products of pending rows to the upper triangle of the Gram matrix."""
        fresh = self._gram is None
        if self._gram is None:
            self._gram = self._zeros(self.dimension)
        if self._pending:
            rows = self._pending[0]
            if len(self._pending) > 1:
                rows = namespace(rows).concat(self._pending)
            if self.precision != "float64" and self.device == CPU and self._scratch is None:
                self._scratch = np.zeros(self._gram.shape, np.float32)
            add_gram(self._gram, rows, self.precision, self._scratch, fresh)
            self._pending = []
        return self._gram

    def _zeros(self, n_rows: int) -> Array:
        xp = library(self.device)
        return xp.zeros((n_rows, self.dimension), dtype=xp.float64, device=self.device)
