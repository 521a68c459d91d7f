"""A spare output, for methods whose published networks have the outputs of all classes at once."""

from __future__ import annotations

import torch
from torch import Tensor

from clsnet.methods.common.trainer import Trainer


class SpareOutput(Trainer):
    """A trainer whose head has one output more than there are classes.

    Where the outputs of all classes are there from the start, old tasks lower the scores of classes
    to come, and what protects old tasks protects that too. To know their number is foresight. Here
    old tasks lower one spare output instead, and new classes start as copies of it.

    Parameters
    ----------
    options
        As for `Trainer`.
    """

    def start_task(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Start new classes, and the next spare output, where the spare output is."""
        self.net.grow(len(self.labels) + 1)
        if self.task > 0:
            with torch.no_grad():
                for weight in self.net.head.parameters():
                    weight[self.new.start :] = weight[self.new.start].clone()
        return X, y

    def scores(self, x: Tensor) -> Tensor:
        """Return the scores of the known classes."""
        return super().scores(x)[:, : len(self.labels)]
