"""An output that stands for all classes to come.

For methods whose published networks have the outputs of all classes from the start.
"""

from __future__ import annotations

import torch
from torch import Tensor

from clsnet.methods.common.trainer import Trainer


class PlaceholderOutput(Trainer):
    """A trainer whose head has one output more than there are classes.

    If all outputs exist from the start, old tasks lower the scores of future classes, and the
    protection of old tasks covers that, too. But such a network knows how many classes will come.
    Here old tasks lower the score of one placeholder instead, and new classes start as copies of
    it.

    Parameters
    ----------
    options
        As for `Trainer`.
    """

    def start_task(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Start new classes, and the next placeholder, as copies of the placeholder."""
        self.net.grow(len(self.labels) + 1)
        if self.task > 0:
            with torch.no_grad():
                for weight in self.net.head.parameters():
                    weight[self.new.start :] = weight[self.new.start].clone()
        return X, y

    def scores(self, x: Tensor) -> Tensor:
        """Return the scores of the known classes."""
        return super().scores(x)[:, : len(self.labels)]
