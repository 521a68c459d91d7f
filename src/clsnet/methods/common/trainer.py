"""One trainer for every method that learns by gradient descent.

A method says what happens on a batch, at the end of a task, and what it keeps; batches, epochs,
the growing head, the device and the seed are the same for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from clsnet.arrays.devices import resolve_device
from clsnet.errors import ClsnetError
from clsnet.images import Samples
from clsnet.memory import MEGABYTE, MemoryUse
from clsnet.methods.common.network import Perceptron

ROWS = 4096


@dataclass
class Exemplars:
    """Samples of old tasks that a method keeps, as vectors, with the codes of their classes."""

    X: Tensor
    y: Tensor

    def __len__(self) -> int:
        return len(self.y)


class Trainer:
    """Learn tasks by stochastic gradient descent on a network with one growing head.

    Subclasses override a few of: `start_task`, `loss`, `optimiser`, `before_step`, `after_step`,
    `end_task`, `kept`. Classes are coded 0, 1, 2, ... in the order in which tasks bring them.

    Parameters
    ----------
    seed
        Of the weights and the order of batches.
    hidden
        Widths of the hidden layers.
    epochs, batch_size, learning_rate
        As in the paper: batches of 100, rate 0.1.
    device
        ``"auto"``, ``"cpu"``, ``"cuda"``.
    """

    net: Perceptron

    def __init__(
        self,
        seed: int = 0,
        hidden: Sequence[int] = (900, 900),
        epochs: int = 10,
        batch_size: int = 100,
        learning_rate: float = 0.1,
        device: str = "auto",
    ) -> None:
        self.seed = seed
        self.hidden = hidden
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = torch.device(resolve_device(device))
        self.random = torch.Generator().manual_seed(seed)
        self.labels: list[int] = []
        self.task = 0
        self.exemplars: Exemplars | None = None

    # ------------------------------------------------------------------- a method overrides

    def start_task(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the samples to train on: those of the task, or more."""
        return X, y

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the loss on a batch."""
        return nn.functional.cross_entropy(self.net(x), y)

    def rate(self, epoch: int) -> float:
        """Return the learning rate of an epoch of a task."""
        return self.learning_rate

    def optimiser(self) -> torch.optim.Optimizer:
        """Return a fresh optimiser of the network."""
        return torch.optim.SGD(self.net.parameters(), lr=self.learning_rate)

    def before_step(self) -> None:
        """Change the gradients before the optimiser uses them."""

    def after_step(self) -> None:
        """Look at, or change, the weights after a step."""

    def end_task(self, X: Tensor, y: Tensor) -> None:
        """Keep something of the task that has been learned."""

    def kept(self) -> dict[str, Tensor]:
        """Return what is kept of old tasks beside network and exemplars."""
        return {}

    # ------------------------------------------------------------------- the same for all

    def check_parameters(self) -> None:
        """Raise an error if a number is negative, or there is none where one is needed."""
        for name, value in vars(self).items():
            if isinstance(value, (int, float)) and not value >= 0:
                raise ClsnetError(f"{name}={value}: use a number of 0 or more.")
        least = {"batch_size": self.batch_size, "hidden": min(self.hidden, default=1)}
        for name, value in least.items():
            if value < 1:
                raise ClsnetError(f"{name}={getattr(self, name)}: use numbers of 1 or more.")

    def partial_fit(self, X: Samples, y: np.ndarray) -> Trainer:
        """Learn one task."""
        old = list(self.labels)
        self.labels += [label for label in np.unique(y).tolist() if label not in old]
        self.new = slice(len(old), len(self.labels))
        x = self.as_input(X)
        codes = torch.tensor([self.labels.index(label) for label in y.tolist()])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(torch.randint(2**31, (), generator=self.random)))
            if self.task == 0:
                self.net = Perceptron(x.shape[1], self.hidden).to(self.device)
            self.net.grow(len(self.labels))
            self.fit_task(x, codes.to(self.device))
        self.task += 1
        return self

    def fit_task(self, X: Tensor, y: Tensor) -> None:
        """Start, train and end a task."""
        self.train(*self.start_task(X, y))
        self.end_task(X, y)

    def train(self, X: Tensor, y: Tensor, epochs: int | None = None) -> None:
        """Run the optimiser over samples."""
        optimiser = self.optimiser()
        self.net.train()
        for epoch in range(self.epochs if epochs is None else epochs):
            optimiser.param_groups[0]["lr"] = self.rate(epoch)
            for rows in self.batches(len(y)):
                optimiser.zero_grad(set_to_none=True)
                self.loss(X[rows], y[rows]).backward()  # type: ignore[no-untyped-call]
                self.before_step()
                optimiser.step()
                self.after_step()
        optimiser.zero_grad(set_to_none=True)  # the last gradients are no part of the model

    def batches(self, n: int) -> Iterator[Tensor]:
        """Return the rows of each batch of one epoch, in random order."""
        order = torch.randperm(n, generator=self.random).to(self.device)
        return (order[i : i + self.batch_size] for i in range(0, n, self.batch_size))

    def as_input(self, X: Samples) -> Tensor:
        """Flatten samples; integers become fractions of the largest one of the first task."""
        pixels = np.asarray(X)
        if self.task == 0:
            self.scale = float(pixels.max()) or 1.0 if pixels.dtype.kind in "iu" else 1.0
        x = torch.from_numpy(pixels.astype(np.float32).reshape(len(X), -1))
        return (x / self.scale).to(self.device)

    @torch.no_grad()
    def scores(self, x: Tensor) -> Tensor:
        """Return the scores by which classes are chosen."""
        self.net.eval()
        scores: Tensor = self.net(x)
        return scores

    def predict(self, X: Samples) -> np.ndarray:
        """Return the class of each sample."""
        parts = (self.as_input(X[i : i + ROWS]) for i in range(0, len(X), ROWS))
        best = [self.scores(x).argmax(dim=1) for x in parts]
        return np.asarray(np.array(self.labels)[torch.cat(best).cpu().numpy()])

    def memory(self) -> MemoryUse:
        """Return the size of network and kept tensors, and of exemplars."""
        model = sum(p.numel() for p in self.net.parameters())
        model += sum(tensor.numel() for tensor in self.kept().values())
        samples = self.exemplars.X.numel() if self.exemplars is not None else 0
        return MemoryUse(4 * model / MEGABYTE, 4 * samples / MEGABYTE)
