"""Nearest class mean."""

from __future__ import annotations

import numpy as np

from clsnet.arrays.devices import Array, library
from clsnet.arrays.linalg import double, take
from clsnet.classifier.sums import Label
from clsnet.methods.common.closed_form import ClosedForm
from clsnet.methods.registry import Method


class NCM(ClosedForm):
    """Classify by the nearest class mean of features, in Euclidean distance.

    The authors released no code that we know of; a test compares with distances taken one by one.
    The NCM rows of many papers scale samples and means to length one, which this does not.

    Parameters
    ----------
    seed, preset, device
        As for `ClosedForm`.

    References
    ----------
    T. Mensink et al., "Distance-Based Image Classification: Generalizing to New Classes at
    Near-Zero Cost", TPAMI 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits().images, load_digits().target
    >>> model = NCM(device="cpu")
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task], y[task])
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    """

    solution: Array  # the class means
    follows_from_sums = True

    def start(self, dimension: int) -> None:
        """Forget all sums."""
        self.sums: dict[Label, Array] = {}
        self.counts: dict[Label, int] = {}

    def learn(self, A: Array, y: np.ndarray) -> None:
        """Add the samples of each class."""
        for label in np.unique(y).tolist():
            own = double(take(A, np.flatnonzero(y == label)))
            self.sums[label] = self.sums.get(label, 0.0) + own.sum(axis=0)
            self.counts[label] = self.counts.get(label, 0) + len(own)

    def solve(self) -> Array:
        """Return the class means."""
        means = [self.sums[label] / self.counts[label] for label in self.sums]
        return library(self.device_).stack(means)

    @property
    def labels(self) -> list[Label]:
        """Classes seen, in the order in which they came."""
        return list(self.sums)

    def scores(self, A: Array) -> Array:
        """Return the distances to all means, squared and negative, less a constant per sample."""
        means = self.solution
        return double(A) @ means.T - (means**2).sum(axis=1) / 2

    def kept(self) -> dict[str, Array]:
        """Return the class sums and counts."""
        sums = library(self.device_).stack(list(self.sums.values()))
        return {"sums": sums, "counts": np.array(list(self.counts.values()))}


METHOD = Method(
    name="ncm",
    module=__name__,
    learner="NCM",
    family="analytic",
    presets=True,
    backbones=True,
    keeps="one sum per class",
    reference="Mensink et al., Distance-Based Image Classification, TPAMI 2013",
)
