"""Random projections and pre-trained models for continual learning (RanPAC)."""

from __future__ import annotations

import numpy as np

from clsnet.arrays.devices import Array, device_of, namespace
from clsnet.arrays.linalg import double, take
from clsnet.classifier.sums import Label, RunningSums
from clsnet.methods.common.closed_form import ClosedForm, one_hot, solve_ridge
from clsnet.methods.common.random_layer import RandomLayer, relu
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method

RIDGES = tuple(10.0**exponent for exponent in range(-8, 9))


class RanPAC(ClosedForm):
    """Ridge regression on a frozen random layer: class prototypes, decorrelated by their Gram.

    Features go through Gaussian weights and a ReLU. The Gram matrix and the class sums
    (prototypes) of the result are added up over tasks. The ridge is the one of seventeen powers
    of ten that, learned from four fifths of the current task, has the least squared error on the
    last fifth; it is chosen anew with every task.

    The authors' first phase, which adapts a pre-trained transformer to the first task, has no
    counterpart here. Their targets are as wide as the number of classes to come; as columns of
    zeros change no choice, those seen so far give the same.

    Checked against the release, with the same features, random weights and order of samples in
    double precision: it chooses the same ridge for every task, scores agree to 1e-12 of the
    largest, and every answer is the same.

    Parameters
    ----------
    nodes
        Width of the random layer. None is the authors' 10,000 with the preset ``"best"``, which
        is a matter of seconds on a GPU only, and 2,000 otherwise.
    options
        As for `ClosedForm`.

    References
    ----------
    M. D. McDonnell et al., "RanPAC: Random Projections and Pre-trained Models for Continual
    Learning", NeurIPS 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits().images, load_digits().target
    >>> model = RanPAC(nodes=500, device="cpu")
    >>> for task in (y < 5, y >= 5):
    ...     model = model.partial_fit(X[task], y[task])
    >>> bool((model.predict(X) == y).mean() > 0.98)
    True
    """

    nodes: int | None = option(None, above=0)

    solution: Array  # the weights

    @property
    def width(self) -> int:
        """Nodes of the random layer."""
        return self.nodes or (10_000 if self.preset == "best" else 2_000)

    def start(self, dimension: int) -> None:
        """Draw the random layer and forget all sums."""
        self.random = np.random.default_rng(self.seed)
        self.layer = RandomLayer(dimension, self.width, self.random, self.device_)
        self.sums = RunningSums(self.width, self.device_)

    def learn(self, A: Array, y: np.ndarray) -> None:
        """Choose the ridge on the task and add the task to the sums."""
        H = relu(self.layer(A))
        self.ridge = self.best_ridge(H, y)
        self.sums.add(H, y)

    def solve(self) -> Array:
        """Return the weights of ridge regression."""
        return solve_ridge(self.sums.gram, self.sums.cross(self.labels), self.ridge)

    def best_ridge(self, H: Array, y: np.ndarray) -> float:
        """Return the ridge that serves a fifth of the samples best when learned from the rest."""
        order = self.random.permutation(len(y))
        n_rows = int(0.8 * len(y))
        rows, held_out = order[:n_rows], order[n_rows:]
        Y = namespace(H).astype(one_hot(y, np.unique(y).tolist(), device_of(H)), H.dtype)
        X, tested = take(H, rows), take(H, held_out)
        if len(X) < self.width:  # the same predictions from the smaller matrix of products
            gram, cross, tested = double(X @ X.T), double(take(Y, rows)), tested @ X.T
        else:
            gram, cross = double(X.T @ X), double(X.T @ take(Y, rows))
        wanted = take(Y, held_out)

        def error(ridge: float) -> float:
            predicted = double(tested) @ solve_ridge(gram, cross, ridge)
            return float(((predicted - wanted) ** 2).sum())

        return min(RIDGES, key=error)

    @property
    def labels(self) -> list[Label]:
        """Classes seen, sorted."""
        return self.sums.labels

    def scores(self, A: Array) -> Array:
        """Return the regression's outputs."""
        return double(relu(self.layer(A))) @ self.solution

    def kept(self) -> dict[str, Array]:
        """Return the Gram matrix and the prototypes."""
        return {"gram": self.sums.gram, "sums": self.sums.cross(self.labels)}


METHOD = Method(
    name="ranpac",
    module=__name__,
    learner="RanPAC",
    family="analytic",
    presets=True,
    backbones=True,
    keeps="one Gram matrix and one sum per class",
    reference="McDonnell et al., RanPAC: Random Projections and Pre-trained Models for Continual "
    "Learning, NeurIPS 2023",
    without={"nodes": 1},
    grid={"nodes": [2_000, 5_000, 10_000]},
)
