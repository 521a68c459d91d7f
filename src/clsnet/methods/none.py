"""Fine-tuning without any protection against forgetting."""

from __future__ import annotations

from clsnet.methods.common.trainer import Trainer
from clsnet.methods.registry import Method


class FineTuning(Trainer):
    """Continue training on each new task alone: the lower bound.

    Parameters
    ----------
    options
        As for `Trainer`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = FineTuning(hidden=(32, 32), epochs=3, batch_size=20, device="cpu")
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])

    Of ten classes, it remembers the last two.

    >>> bool(0.15 < (model.predict(X / 16) == y).mean() < 0.25)
    True
    """

    tunable = True


METHOD = Method(
    name="none",
    module=__name__,
    learner="FineTuning",
    family="bound",
    backbones=True,
    tunable=True,
    keeps="nothing",
    reference="lower bound: fine-tuning on each task",
    paper="None",
)
