"""Joint training on the data of all tasks so far."""

from __future__ import annotations

import math

from torch import Tensor

from clsnet.methods.common.trainer import Exemplars, Trainer
from clsnet.methods.registry import Method


class Joint(Trainer):
    """Train a fresh network on all data of all tasks so far: the upper bound.

    It keeps every sample, and its memory counts them. Except for chance, the result does not depend
    on the order of the tasks. The learning rate falls to zero along half a cosine.

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

    epochs = 15
    learning_rate = 0.2

    def start_task(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Add the samples of the task to the old ones, and start from new weights."""
        X, y = self.replayed(X, y)
        self.exemplars = Exemplars(X, y)
        self.net = self.new_network(len(self.labels))
        return X, y

    def schedule(self, epoch: int) -> float:
        """Fall to zero along half a cosine."""
        return (1 + math.cos(math.pi * epoch / self.epochs)) / 2


METHOD = Method(
    name="joint",
    module=__name__,
    learner="Joint",
    family="bound",
    backbones=True,
    keeps="all samples",
    reference="upper bound: training anew on all data so far",
    paper="Joint",
)
