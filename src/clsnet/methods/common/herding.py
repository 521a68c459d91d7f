"""Herding: exemplars whose mean is close to the mean of their class."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from clsnet.methods.common.rehearsal import Rehearsal


class Herding(Rehearsal):
    """A trainer that keeps the samples of each class that herding chooses first.

    The classes of a task are herded by the unit-length features of the current network. For all
    other classes, the last exemplars are dropped; the remaining ones are those that herding would
    have chosen.

    Checked against the released code of iCaRL: the lists agree until the release chooses a sample
    that it has chosen before. It then counts that sample again without adding another. Here no
    sample counts twice, and the mean of the exemplars is closer to that of the class.

    Parameters
    ----------
    options
        As for `Rehearsal`.
    """

    present: tuple[int, ...] = ()  # classes of the task

    def end_task(self, X: Tensor, y: Tensor) -> None:
        """Choose the exemplars."""
        self.present = tuple(set(y.tolist()))
        super().end_task(X, y)

    def rank(self, X: Tensor, y: Tensor, quota: int) -> Tensor:
        """Return the first rows that herding takes, in its order."""
        quota = min(quota, len(y))
        if int(y[0]) not in self.present:
            return torch.arange(quota, device=y.device)
        return herded(nn.functional.normalize(self.features(X)), quota)


def herded(features: Tensor, count: int) -> Tensor:
    """Return `count` rows, each of which brings the mean of those chosen nearest to that of all.

    Examples
    --------
    >>> herded(torch.tensor([[0.0], [1.0], [2.0], [7.0]]), 3).tolist()
    [2, 1, 3]
    """
    mean, squares = features.mean(dim=0), features.square().sum(dim=1)
    total = torch.zeros_like(mean)
    chosen = []
    for number in range(1, count + 1):
        missing = number * mean - total
        row = (squares - 2 * (features @ missing)).argmin(keepdim=True)
        total = total + features[row[0]]
        squares = squares.index_fill(0, row, torch.inf)  # not twice
        chosen.append(row)
    return torch.cat(chosen) if chosen else torch.zeros(0, dtype=torch.int64, device=mean.device)
