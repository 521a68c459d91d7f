"""Joint training on the data of all tasks so far."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from clsnet.methods.common.network import Perceptron
from clsnet.methods.common.trainer import Exemplars, Trainer
from clsnet.methods.registry import Method


class Joint(Trainer):
    """Train a fresh network on all data of all tasks so far: the upper bound.

    It keeps every sample, and its memory says so. The result does not depend on the order of the
    tasks, but for chance. As an upper bound should, it trains with some care: the rate falls to
    zero along half a cosine.

    Parameters
    ----------
    epochs
        Over all samples so far, at every task.
    learning_rate
        At the start; twice the paper's, as it falls.
    options
        As for `Trainer`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = Joint(hidden=(32, 32), epochs=8, batch_size=20, device="cpu")
    >>> for first in (0, 5):
    ...     task = (y >= first) & (y < first + 5)
    ...     model = model.partial_fit(X[task] / 16, y[task])
    >>> bool((model.predict(X / 16) == y).mean() > 0.9)
    True
    >>> len(model.exemplars)
    1797
    """

    def __init__(self, epochs: int = 15, learning_rate: float = 0.2, **options: Any) -> None:
        super().__init__(epochs=epochs, learning_rate=learning_rate, **options)

    def start_task(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Add the samples of the task to the old ones, and start from new weights."""
        if self.exemplars is not None:
            X, y = torch.cat([self.exemplars.X, X]), torch.cat([self.exemplars.y, y])
        self.exemplars = Exemplars(X, y)
        self.net = Perceptron(X.shape[1], self.hidden).to(self.device)
        self.net.grow(len(self.labels))
        return X, y

    def rate(self, epoch: int) -> float:
        """Return the learning rate of an epoch."""
        return self.learning_rate * (1 + math.cos(math.pi * epoch / self.epochs)) / 2


METHOD = Method(
    name="joint",
    module=__name__,
    learner="Joint",
    family="bound",
    keeps="all samples",
    reference="upper bound: training anew on all data so far",
    paper="Joint",
)
