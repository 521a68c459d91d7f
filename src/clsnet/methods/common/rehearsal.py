"""The base class of methods with exemplars: a budget shared equally by the classes seen so far."""

from __future__ import annotations

import torch
from torch import Tensor

from clsnet.methods.common.trainer import Exemplars, Trainer
from clsnet.methods.declared_options import option


class Rehearsal(Trainer):
    """A trainer that keeps samples of every class and chooses them again after each task.

    Old samples can only be dropped, as all others are gone. A subclass may override `rank`.

    Parameters
    ----------
    budget
        Number of samples kept, all classes together.
    options
        As for `Trainer`.
    """

    budget: int = option(2000, least=0)

    def rank(self, X: Tensor, y: Tensor, quota: int) -> Tensor:
        """Return the rows of one class that are kept, `quota` of them; here at random."""
        return torch.randperm(len(y), generator=self.random).to(y.device)[:quota]

    def end_task(self, X: Tensor, y: Tensor) -> None:
        """Choose the exemplars among the old ones and the samples of the task."""
        X, y = self.replayed(X, y)
        quota = self.budget // len(self.labels)
        chosen = []
        for code in range(len(self.labels)):
            rows = (y == code).nonzero().flatten()
            if len(rows):
                chosen.append(rows[self.rank(X[rows], y[rows], quota)])
        rows = torch.cat(chosen)
        self.exemplars = Exemplars(X[rows], y[rows])
