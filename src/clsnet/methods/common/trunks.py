"""The base class of methods that grow one trunk per task: DER, MEMO, FOSTER."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from typing import Self

import torch
from torch import Tensor, nn

from clsnet.methods.common.herding import Herding
from clsnet.methods.common.network import GrowingNetwork
from clsnet.methods.declared_options import option


class Trunks(GrowingNetwork):
    """Layers that all tasks share, trunks side by side behind them, and one head over all features.

    Only the newest trunk is trained; the others are frozen, and stay in evaluation mode.

    Parameters
    ----------
    shared
        The layers before the trunks.
    trunk
        The first trunk.
    width
        Number of features of a trunk.

    Examples
    --------
    >>> net = Trunks(nn.Flatten(), nn.Linear(64, 5), width=5)
    >>> net.grow(2)
    >>> net.branch()
    >>> net.features(torch.zeros(3, 8, 8)).shape, net(torch.zeros(3, 8, 8)).shape
    (torch.Size([3, 10]), torch.Size([3, 2]))
    """

    def __init__(self, shared: nn.Module, trunk: nn.Module, width: int) -> None:
        super().__init__(shared, width)
        self.width = width
        self.trunks = nn.ModuleList([trunk])

    def features(self, x: Tensor) -> Tensor:
        """Return the features of all trunks, the newest last."""
        shared = self.body(x)
        return torch.cat([trunk(shared) for trunk in self.trunks], dim=1)

    def branch(self) -> None:
        """Freeze the trunks, and add a copy of the newest one; old weights of the head stay."""
        newest = copy.deepcopy(self.trunks[-1])
        self.trunks.requires_grad_(False)
        self.trunks.append(newest)
        old = self.head
        self.head = nn.Linear(old.in_features + self.width, old.out_features).to(old.weight.device)
        with torch.no_grad():
            self.head.weight[:, : old.in_features] = old.weight
            self.head.bias.copy_(old.bias)

    def train(self, mode: bool = True) -> Self:
        """Switch to training mode, except the frozen trunks."""
        super().train(mode)
        for trunk in self.trunks[:-1]:
            trunk.eval()
        return self


class TrunkTrainer(Herding):
    """A trainer that adds a trunk of its own for every task after the first.

    A trunk is a whole network without its head, unless `split` says otherwise. It is trained on the
    samples of the task and all exemplars. An auxiliary head that sees only the new trunk adds a
    second loss and is discarded afterwards. The learning rate falls to zero along half a cosine.

    Parameters
    ----------
    momentum, weight_decay
        Of the gradient descent.
    auxiliary
        Weight of the loss of the auxiliary head.
    options
        As for `Rehearsal`.
    """

    tunable = True
    learning_rate = 0.05
    momentum: float = option(0.9, least=0, most=1)
    weight_decay: float = option(5e-4, least=0)
    auxiliary: float = option(1.0, least=0)

    net: Trunks
    auxiliary_head: nn.Linear | None = None  # while a later task is learned

    def split(self, body: nn.Sequential) -> tuple[nn.Module, nn.Module]:
        """Return the layers that all tasks share, and the first trunk."""
        return body[:0], body

    def balance(self) -> None:
        """Make old and new classes comparable, when exemplars are chosen."""

    def new_network(self, n_outputs: int) -> GrowingNetwork:
        """Return a network with one trunk."""
        plain = super().new_network(n_outputs)
        assert isinstance(plain.body, nn.Sequential)
        net = Trunks(*self.split(plain.body), plain.head.in_features)
        net.head = plain.head
        return net

    def fit_task(self, X: Tensor, y: Tensor) -> None:
        """Add a trunk, train it, choose exemplars and balance."""
        if self.task:
            self.net.branch()
            self.auxiliary_head = nn.Linear(self.net.width, self.n_auxiliary).to(self.device_)
        self.train(*self.replayed(X, y))
        self.auxiliary_head = None
        self.end_task(X, y)
        if self.task:
            self.balance()

    @property
    def n_auxiliary(self) -> int:
        """Outputs of the auxiliary head: the new classes, and one for all old ones."""
        return self.new.stop - self.new.start + 1

    def auxiliary_targets(self, y: Tensor) -> Tensor:
        """Return codes for the auxiliary head: all old classes are 0."""
        return (y - self.new.start + 1).clamp(min=0)

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the losses of both heads."""
        features = self.net.features(x)
        loss = nn.functional.cross_entropy(self.net.head(features), y)
        if self.auxiliary_head is None:
            return loss
        scores = self.auxiliary_head(features[:, -self.net.width :])
        beside = nn.functional.cross_entropy(scores, self.auxiliary_targets(y))
        return loss + self.auxiliary * beside

    def optimiser(self) -> torch.optim.Optimizer:
        """Return gradient descent of the newest trunk and both heads."""
        beside = [] if self.auxiliary_head is None else self.auxiliary_head.parameters()
        return self.descent([*self.net.parameters(), *beside], self.rate)

    def descent(self, parameters: Iterable[Tensor], rate: float) -> torch.optim.Optimizer:
        """Return gradient descent with momentum of weights that are not frozen."""
        return torch.optim.SGD(
            [weight for weight in parameters if weight.requires_grad],
            lr=rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
        )

    def schedule(self, epoch: int) -> float:
        """Fall to zero along half a cosine."""
        return cosine(epoch / self.epochs)


def cosine(done: float) -> float:
    """Return half a cosine, from one at the start to zero at the end.

    Examples
    --------
    >>> [round(cosine(done), 2) for done in (0, 0.5, 1)]
    [1.0, 0.5, 0.0]
    """
    return (1 + math.cos(math.pi * done)) / 2
