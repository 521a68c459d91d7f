"""Random projections and pre-trained models for continual learning (RanPAC)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from clsnet.methods.common.closed_form import ClosedForm
from clsnet.classifier.sums import Label, Statistics
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

    def __init__(self, nodes: int | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.nodes = nodes or (10_000 if self.preset == "best" else 2_000)

    def start(self, dimension: int) -> None:
        """Draw the projection and forget all sums."""
        self.random = torch.Generator().manual_seed(self.seed)
        projection = torch.randn(dimension, self.nodes, generator=self.random)
        self.projection = projection.to(self.device)
        self.seen = Statistics(self.nodes, self.device)

    def learn(self, A: Tensor, y: np.ndarray) -> None:
        """Choose the ridge on the task, add the task to the sums, solve for the weights."""
        H = self.expand(A)
        self.ridge = self.best_ridge(H, y)
        self.seen.add(H, y)
        self.weights = solve(self.seen.gram, self.seen.cross(self.labels), self.ridge)

    def expand(self, A: Tensor) -> Tensor:
        """Return the outputs of the random layer."""
        return torch.relu(A @ self.projection.to(A.dtype))

    def best_ridge(self, H: Tensor, y: np.ndarray) -> float:
        """Return the ridge that serves a fifth of the samples best when learned from the rest."""
        order = torch.randperm(len(y), generator=self.random)
        n_rows = int(0.8 * len(y))
        rows, held_out = order[:n_rows], order[n_rows:]
        Y = torch.as_tensor(y[:, None] == np.unique(y), device=H.device).to(H.dtype)
        X, tested = H[rows], H[held_out]
        if len(X) < self.nodes:  # the same predictions from the smaller matrix of products
            gram, cross, tested = (X @ X.T).double(), Y[rows].double(), tested @ X.T
        else:
            gram, cross = (X.T @ X).double(), (X.T @ Y[rows]).double()

        def error(ridge: float) -> float:
            predicted = tested @ solve(gram, cross, ridge).to(H.dtype)
            return float((predicted - Y[held_out]).square().sum())

        return min(RIDGES, key=error)

    @property
    def labels(self) -> list[Label]:
        """Classes seen, sorted."""
        return self.seen.labels

    def scores(self, A: Tensor) -> Tensor:
        """Return the regression's outputs."""
        return self.expand(A).double() @ self.weights

    def kept(self) -> dict[str, Tensor]:
        """Return the projection, the Gram matrix and the prototypes."""
        sums = self.seen.cross(self.labels)
        return {"projection": self.projection, "gram": self.seen.gram, "sums": sums}


def solve(gram: Tensor, cross: Tensor, ridge: float) -> Tensor:
    """Return ``(gram + ridge I)^-1 cross``."""
    matrix = gram.clone()
    matrix.diagonal().add_(ridge)
    weights: Tensor = torch.linalg.solve(matrix, cross)
    return weights


METHOD = Method(
    name="ranpac",
    build=lambda seed, preset=None, **options: RanPAC(seed=seed, preset=preset, **options),
    family="analytic",
    presets=True,
    backbones=True,
    keeps="a random projection, one Gram matrix and one sum per class",
    reference="McDonnell et al., RanPAC: Random Projections and Pre-trained Models for Continual "
    "Learning, NeurIPS 2023",
    grid={"nodes": [2_000, 5_000, 10_000]},
)
