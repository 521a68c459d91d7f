"""Streaming linear discriminant analysis."""

from __future__ import annotations

import numpy as np

from clsnet.arrays.devices import Array
from clsnet.arrays.linalg import double
from clsnet.classifier.sums import Label, RunningSums
from clsnet.methods.common.closed_form import ClosedForm, gaussian, solve_ridge
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method


class SLDA(ClosedForm):
    """Linear discriminant analysis: class means and one covariance around them, shared by all.

    With S the covariance shrunk towards the identity, ``(1 - shrinkage) S + shrinkage I``, and m a
    class mean, a class scores ``x'S^-1 m - m'S^-1 m / 2``: no class is more likely than others.

    Paper and released code update the covariance by a recursion with the number of all samples,
    whose result depends on their order, and may start it from a base set. Here it is the exact
    pooled covariance, which follows from sums, in any order and without a base set.

    Checked against the release in double precision: means are the same, and given the same
    covariance, scores agree to 2e-12 of the largest. The recursion's own covariance is 3 % off
    after 400 samples of each of ten classes, and 4 of 2,000 answers differ.

    Parameters
    ----------
    shrinkage
        Between 0 and 1. The authors' 0.0001 is for features with a variance near one; ours have
        about 0.01, and on held-out training data of Fashion-MNIST a smaller value is better.
    options
        As for `ClosedForm`.

    References
    ----------
    T. L. Hayes and C. Kanan, "Lifelong Machine Learning with Deep Streaming Linear Discriminant
    Analysis", CLVision 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits().images, load_digits().target
    >>> model = SLDA(shrinkage=0.001, device="cpu")
    >>> for task in (y < 5, y >= 5):
    ...     model = model.partial_fit(X[task], y[task])
    >>> bool((model.predict(X) == y).mean() > 0.98)
    True
    """

    solution: tuple[Array, Array]  # weights and bias
    follows_from_sums = True

    shrinkage: float = option(1e-6, least=0, most=1)

    def start(self, dimension: int) -> None:
        """Forget all sums."""
        self.sums = RunningSums(dimension, self.device_)

    def learn(self, A: Array, y: np.ndarray) -> None:
        """Add the task to the sums."""
        self.sums.add(A, y)

    def solve(self) -> tuple[Array, Array]:
        """Return the weights and the bias of every class."""
        means, covariance = gaussian(self.sums)
        weights = solve_ridge((1 - self.shrinkage) * covariance, means.T, self.shrinkage)
        return weights, -(means.T * weights).sum(axis=0) / 2

    @property
    def labels(self) -> list[Label]:
        """Classes seen, sorted."""
        return self.sums.labels

    def scores(self, A: Array) -> Array:
        """Return the discriminants."""
        weights, bias = self.solution
        return double(A) @ weights + bias

    def kept(self) -> dict[str, Array]:
        """Return the Gram matrix, the class sums and counts."""
        counts = np.array([self.sums.counts[label] for label in self.labels])
        return {"gram": self.sums.gram, "sums": self.sums.cross(self.labels), "counts": counts}


METHOD = Method(
    name="slda",
    module=__name__,
    learner="SLDA",
    family="analytic",
    presets=True,
    backbones=True,
    keeps="one Gram matrix and one sum per class",
    reference="Hayes & Kanan, Lifelong Machine Learning with Deep Streaming Linear Discriminant "
    "Analysis, CLVision 2020",
    without={"shrinkage": 1.0},  # the identity in place of the covariance
    grid={"shrinkage": [1e-7, 1e-6, 1e-5, 1e-4, 1e-3]},
)
