"""Analytic imbalance rectifier (AIR)."""

from __future__ import annotations

import numpy as np

from clsnet.arrays.devices import Array, library, to_device
from clsnet.arrays.linalg import add_scaled, double, take
from clsnet.classifier.sums import Label, RunningSums
from clsnet.methods.common.closed_form import ClosedForm, solve_ridge
from clsnet.methods.common.random_layer import RandomLayer, relu
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method


class AIR(ClosedForm):
    """Ridge regression on a frozen random layer, with the same total weight for every class.

    Features go through uniform random weights and a ReLU, as for `ACIL`. A Gram matrix and a sum
    are kept for each class. Before they are added up, each is divided by the class's number of
    samples and multiplied by the harmonic mean of these numbers. If all classes have the same
    number of samples, the result equals that of `ACIL`. It depends neither on the order of tasks
    nor on how often a class appears again.

    As in the release, which keeps one Gram matrix per class in all settings, memory grows with
    the square of `nodes` for each class.

    Checked against the release on classes of unequal size, with the same features and random
    weights in double precision: scores agree to 3e-11 of the largest, and every answer is the same.

    Parameters
    ----------
    nodes
        Width of the random layer. None is the authors' 8,192 with the preset ``"best"``, and
        2,000 otherwise.
    ridge
        The authors' 0.1.
    options
        As for `ClosedForm`.

    References
    ----------
    D. Fang et al., "AIR: Analytic Imbalance Rectifier for Continual Learning", 2024.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits().images, load_digits().target
    >>> model = AIR(nodes=500, device="cpu")
    >>> for task in (y < 5, y >= 5):
    ...     model = model.partial_fit(X[task], y[task])
    >>> bool((model.predict(X) == y).mean() > 0.98)
    True
    """

    solution: Array  # the weights
    follows_from_sums = True

    nodes: int | None = option(None, above=0)
    ridge: float = option(0.1, above=0)

    @property
    def width(self) -> int:
        """Nodes of the random layer."""
        return self.nodes or (8_192 if self.preset == "best" else 2_000)

    def start(self, dimension: int) -> None:
        """Draw the random layer and forget all sums."""
        random = np.random.default_rng(self.seed)
        self.layer = RandomLayer(dimension, self.width, random, self.device_, uniform=True)
        self.sums: dict[Label, RunningSums] = {}

    def learn(self, A: Array, y: np.ndarray) -> None:
        """Add the samples of each class to its own sums."""
        for label in np.unique(y).tolist():
            rows = np.flatnonzero(y == label)
            sums = self.sums.setdefault(label, RunningSums(self.width, self.device_))
            sums.add(relu(self.layer(take(A, rows))), y[rows])

    def solve(self) -> Array:
        """Return the weights of ridge regression on the weighted sums."""
        weights = self.class_weights()
        xp = library(self.device_)
        gram = xp.zeros((self.width, self.width), dtype=xp.float64, device=self.device_)
        for weight, sums in zip(weights.tolist(), self.sums.values(), strict=True):
            add_scaled(gram, sums.gram, weight)
        return solve_ridge(gram, self.cross() * to_device(weights, self.device_), self.ridge)

    def class_weights(self) -> np.ndarray:
        """Return how much one sample of each class counts; one on average over classes."""
        shares = np.array([1 / sums.n_samples for sums in self.sums.values()])
        return np.asarray(shares / shares.mean())

    def cross(self) -> Array:
        """Return the sum of each class, one column each."""
        columns = [sums.cross([label]) for label, sums in self.sums.items()]
        return library(self.device_).concat(columns, axis=1)

    @property
    def labels(self) -> list[Label]:
        """Classes seen, in the order in which they came."""
        return list(self.sums)

    def scores(self, A: Array) -> Array:
        """Return the regression's outputs."""
        return double(relu(self.layer(A))) @ self.solution

    def kept(self) -> dict[str, Array]:
        """Return the Gram matrix of every class, the class sums and counts."""
        grams = {f"{label}.gram": sums.gram for label, sums in self.sums.items()}
        counts = np.array([sums.n_samples for sums in self.sums.values()])
        return {**grams, "sums": self.cross(), "counts": counts}


METHOD = Method(
    name="air",
    module=__name__,
    learner="AIR",
    family="analytic",
    presets=True,
    backbones=True,
    keeps="one Gram matrix and one sum for each class",
    reference="Fang et al., AIR: Analytic Imbalance Rectifier for Continual Learning, 2024",
    without={"ridge": 1e9},  # class sums, which nothing tells apart from one another
    grid={"ridge": [1e-3, 1e-2, 1e-1, 1.0, 10.0]},
)
