"""Analytic class-incremental learning (ACIL)."""

from __future__ import annotations

import numpy as np

from clsnet.arrays.devices import Array
from clsnet.arrays.linalg import double
from clsnet.classifier.sums import Label
from clsnet.methods.common.closed_form import ClosedForm, one_hot
from clsnet.methods.common.random_layer import RandomLayer, relu
from clsnet.methods.common.recursive_ridge import RecursiveRidge
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method

BLOCK = 1024  # samples learned at once; their number changes rounding only


class ACIL(ClosedForm):
    """Ridge regression on a frozen random layer, by recursive least squares.

    Features go through uniform random weights and a ReLU. The inverse of the regularised Gram
    matrix and the weights are updated block by block; after any task, in any order, the weights
    equal those of ridge regression on all samples so far. The update is the one that the authors
    gave for G-ACIL (GACL), in which classes may come again; their release has no other.

    The released code trains its network on the first half of the classes and keeps the epoch with
    the best test accuracy. Here the network is frozen, as for all other methods on these features.

    Checked against the release, with the same features and random weights in double precision: the
    weights agree to 3e-8 of the largest, and every answer is the same.

    Parameters
    ----------
    nodes
        Width of the random layer. None is the authors' 8,192 with the preset ``"best"``, and
        2,000 otherwise; for ImageNet they take 16,384.
    ridge
        Default: the authors' 0.1, which suits their features; they advise tuning it on new ones.
    options
        As for `ClosedForm`.

    References
    ----------
    H. Zhuang et al., "ACIL: Analytic Class-Incremental Learning with Absolute Memorization and
    Privacy Protection", NeurIPS 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits().images, load_digits().target
    >>> model = ACIL(nodes=500, device="cpu")
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
        """Draw the random layer and forget everything learned."""
        random = np.random.default_rng(self.seed)
        self.layer = RandomLayer(dimension, self.width, random, self.device_, uniform=True)
        self.regression = RecursiveRidge(self.width, self.ridge, self.device_)
        self.known: list[Label] = []

    def learn(self, A: Array, y: np.ndarray) -> None:
        """Update the regression, one block after another."""
        self.known += [label for label in np.unique(y).tolist() if label not in self.known]
        for start in range(0, len(y), BLOCK):
            rows = slice(start, start + BLOCK)
            self.regression.add(self.expand(A[rows]), one_hot(y[rows], self.known, self.device_))

    def expand(self, A: Array) -> Array:
        """Return the outputs of the random layer."""
        return double(relu(self.layer(A)))

    def solve(self) -> Array:
        """Return the weights."""
        return self.regression.weights

    @property
    def labels(self) -> list[Label]:
        """Classes seen, in the order in which they came."""
        return self.known

    def scores(self, A: Array) -> Array:
        """Return the regression's outputs."""
        return self.expand(A) @ self.solution

    def kept(self) -> dict[str, Array]:
        """Return the inverse of the Gram matrix and the weights."""
        return {"inverse.gram": self.regression.inverse, "weights": self.regression.weights}


METHOD = Method(
    name="acil",
    module=__name__,
    learner="ACIL",
    family="analytic",
    presets=True,
    backbones=True,
    keeps="one inverse Gram matrix and one column of weights per class",
    reference="Zhuang et al., ACIL: Analytic Class-Incremental Learning with Absolute Memorization "
    "and Privacy Protection, NeurIPS 2022",
    without={"ridge": 1e9},  # class sums, which nothing tells apart from one another
    grid={"ridge": [1e-3, 1e-2, 1e-1, 1.0, 10.0]},
)
