"""Per-class continual learning."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from clsnet.errors import ClsnetError
from clsnet.images import Samples
from clsnet.methods.common.network import Perceptron
from clsnet.methods.common.phase import Phase
from clsnet.methods.common.trainer import Trainer
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method

SHIFT = 0.56  # of inputs of length 1; 0.02 where there are 784 of them, as in the released code
SHARED = 0.1


class PCL(Trainer):
    """Learn each class with a network of its own, from samples of that class alone.

    A class has one hidden layer and one score, without biases. Its loss is
    ``-log(sigmoid(score) + 0.01)``, plus a multiple of the eighth power of the norm of the score's
    gradient by the input, averaged over samples ("H-regularisation"). Without it a score could grow
    everywhere, as there is no other class to learn from. A new class starts from the mean of the
    earlier ones and pays for its distance from it.

    To compare classes, what they share is taken away: a tenth of what the mean of the other
    classes' first layers makes of an input is subtracted from the hidden units. Beside that, each
    task has a small classifier of its own classes, and only the class that it chooses competes
    with those of other tasks. All this is as in the released code, whose means weighted by Fisher
    information do not enter its predictions.

    Inputs are scaled to length 1 and shifted. The released code trains for 100 epochs, drops out
    units and keeps the epoch that is best on test data; here there are 20, with no drop-out, and
    the last one is kept. A task's classifier has 100 units in place of 1,000: on held-out training
    data of Fashion-MNIST both gave 0.78 after five epochs.

    Parameters
    ----------
    hidden
        Number of hidden units of a class: one number, in a list.
    task_units
        Number of hidden units of a task's classifier; 0: no classifiers, all classes compete.
    penalty
        Of the gradient.
    transfer
        Of the distance from the mean of earlier classes.
    momentum
        Of the gradient descent.
    options
        As for `Trainer`.

    References
    ----------
    W. Hu et al., "Continual Learning by Using Information of Each Class Holistically", AAAI 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = PCL(epochs=10, batch_size=20, device="cpu")
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])
    >>> bool((model.predict(X / 16) == y).mean() > 0.7)
    True
    """

    hidden = (100,)
    epochs = 20
    task_units: int = option(100, least=0)
    penalty: float = option(0.5, least=0)
    transfer: float = option(0.001, least=0)
    momentum: float = option(0.9, least=0, most=1)

    net: ClassNetworks

    def check_parameters(self) -> None:
        """Raise an error if an option cannot be what it is."""
        super().check_parameters()
        if len(self.hidden) != 1:
            raise ClsnetError(f"hidden={self.hidden!r}: use one number; a class has one layer.")

    def start(self) -> None:
        """Know no task yet."""
        self.members: list[list[int]] = []  # of each task: the codes of its classes

    def new_network(self, n_outputs: int) -> ClassNetworks:  # type: ignore[override]
        """Return networks with new weights."""
        net = ClassNetworks(self.n_inputs, self.hidden[0], self.device_)
        net.grow(n_outputs)
        return net

    def as_input(self, X: Samples) -> Tensor:
        """Return inputs of length 1, shifted."""
        x = nn.functional.normalize(super().as_input(X), dim=1)
        return x - SHIFT / math.sqrt(x.shape[1])

    def fit_task(self, X: Tensor, y: Tensor) -> None:
        """Learn class by class, and then to choose among the task's classes."""
        codes = torch.unique(y).tolist()
        for code in codes:
            self.fit_class(code, X[y == code])
        self.members.append(codes)
        self.net.choosers.append(self.chooser(X, y))

    def fit_class(self, code: int, X: Tensor) -> None:
        """Train the network of one class."""
        parameters = self.net.of(code)
        shared = self.net.mean_before(code) if code > 0 else parameters
        if code >= self.new.start:
            with torch.no_grad():
                for parameter, mean in zip(parameters, shared, strict=True):
                    parameter.copy_(mean)

        def loss(x: Tensor, target: Tensor) -> Tensor:
            score, gradient = score_and_gradient(x, *parameters)
            fit = -(score.sigmoid() + 0.01).log().mean()
            total = fit + self.penalty * gradient.square().sum(dim=1).pow(4).mean()
            if code == 0:
                return total
            distance = [(a - b).norm() for a, b in zip(parameters, shared, strict=True)]
            return total + self.transfer * torch.stack(distance).sum()

        self.descend(X, torch.zeros_like(X[:, 0]), parameters, loss)

    def chooser(self, X: Tensor, y: Tensor) -> nn.Module:
        """Return a classifier of a task's classes; one class needs none."""
        classes, codes = torch.unique(y, return_inverse=True)
        if len(classes) == 1 or self.task_units == 0:
            return nn.Identity()
        net = Perceptron(self.n_inputs, (self.task_units,)).to(self.device_)
        net.grow(len(classes))

        def loss(x: Tensor, target: Tensor) -> Tensor:
            return nn.functional.cross_entropy(net(x), target)

        self.descend(X, codes, list(net.parameters()), loss)
        return net

    def descend(
        self,
        X: Tensor,
        y: Tensor,
        parameters: list[Tensor],
        loss: Callable[[Tensor, Tensor], Tensor],
    ) -> None:
        """Train some parameters by gradients of norm 1 at most."""
        optimiser = torch.optim.SGD(parameters, lr=self.learning_rate, momentum=self.momentum)

        def clip() -> None:
            nn.utils.clip_grad_norm_(parameters, 1.0)

        self.train(X, y, Phase(optimiser, loss, self.epochs, before_step=clip))

    @torch.no_grad()
    def scores(self, x: Tensor) -> Tensor:
        """Return the classes' scores; in a task with a classifier, of the class it chooses."""
        scores: Tensor = self.net(x)
        if self.task_units == 0:
            return scores
        competes = torch.zeros_like(scores, dtype=torch.bool)
        for codes, chooser in zip(self.members, self.net.choosers, strict=True):
            members = torch.tensor(codes, device=x.device)
            best = chooser(x).argmax(dim=1) if len(codes) > 1 else members.new_zeros(len(x))
            competes.scatter_(1, members[best][:, None], True)
        return scores.masked_fill(~competes, -math.inf)


class ClassNetworks(nn.Module):
    """For each class a network of one hidden layer; for each task a classifier of its classes.

    Parameters
    ----------
    n_inputs, width
        Numbers of inputs and of hidden units of a class.
    device
        Where parameters are.

    Examples
    --------
    >>> net = ClassNetworks(784, 100, torch.device("cpu"))
    >>> net.grow(3)
    >>> net(torch.zeros(2, 784)).shape
    torch.Size([2, 3])
    """

    def __init__(self, n_inputs: int, width: int, device: torch.device) -> None:
        super().__init__()
        self.n_inputs, self.width, self.device = n_inputs, width, device
        self.first = nn.ParameterList()
        self.last = nn.ParameterList()
        self.choosers = nn.ModuleList()

    def grow(self, n_outputs: int) -> None:
        """Add networks with new weights until there are `n_outputs`."""
        for _ in range(len(self.first), n_outputs):
            first = torch.empty(self.width, self.n_inputs).uniform_(-1, 1) / math.sqrt(1000)
            last = torch.empty(self.width).uniform_(-1, 1) / math.sqrt(500)
            self.first.append(nn.Parameter(first.to(self.device)))
            self.last.append(nn.Parameter(last.to(self.device)))

    def of(self, code: int) -> list[Tensor]:
        """Return the parameters of a class."""
        return [self.first[code], self.last[code]]

    def mean_before(self, code: int) -> list[Tensor]:
        """Return the mean parameters of the classes before a class."""
        layers = (self.first, self.last)
        return [torch.stack(list(layer[:code])).detach().mean(dim=0) for layer in layers]

    def forward(self, x: Tensor) -> Tensor:
        """Return the score of each class, less a part of what it shares with the others."""
        total, n = torch.stack(list(self.first)).sum(dim=0), len(self.first)
        scores = []
        for first, last in zip(self.first, self.last, strict=True):
            others = (total - first) / max(n - 1, 1)
            units = (x @ first.T).relu() - SHARED * (x @ others.T).relu()
            scores.append(units @ last)
        return torch.stack(scores, dim=1)


def score_and_gradient(x: Tensor, first: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
    """Return the score of each sample, and its gradient by the sample.

    Examples
    --------
    >>> x, first, last = torch.tensor([[1.0, 2.0]]), torch.eye(2), torch.tensor([3.0, -1.0])
    >>> score_and_gradient(x, first, last)
    (tensor([1.]), tensor([[ 3., -1.]]))
    """
    units = (x @ first.T).relu()
    return units @ last, ((units > 0) * last) @ first


METHOD = Method(
    name="pcl",
    module=__name__,
    learner="PCL",
    family="architecture",
    backbones=True,
    keeps="a network for each class and each task",
    reference="Hu et al., Continual Learning by Using Information of Each Class Holistically, "
    "AAAI 2021",
    paper="PCL",
    without={"penalty": 0.0},
    grid={"penalty": [0.05, 0.5, 5.0]},
)
