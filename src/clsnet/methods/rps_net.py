"""Random path selection."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from clsnet.methods.common.network import GrowingNetwork
from clsnet.methods.common.rehearsal import Rehearsal
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method

FALL = 0.5  # of the rate, twice in a task


class ModuleSum(nn.Module):
    """A layer of parallel modules, each with a ReLU; the outputs of those used so far are summed.

    A module is made when a path first uses it.

    Parameters
    ----------
    n_inputs, n_outputs
        Of each module.

    Examples
    --------
    >>> layer = ModuleSum(4, 3)
    >>> layer.use(5)
    >>> layer.use(2)
    >>> list(layer.used), [weight.requires_grad for weight in layer.parameters()]
    (['5', '2'], [False, False, True, True])
    >>> layer(torch.zeros(7, 4)).shape
    torch.Size([7, 3])
    """

    def __init__(self, n_inputs: int, n_outputs: int) -> None:
        super().__init__()
        self.n_inputs, self.n_outputs = n_inputs, n_outputs
        self.used = nn.ModuleDict()

    def use(self, number: int) -> None:
        """Freeze the modules that were used before, and make that of the number if it is new."""
        self.used.requires_grad_(False)
        if str(number) not in self.used:
            self.used[str(number)] = nn.Linear(self.n_inputs, self.n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum of the rectified outputs."""
        return torch.stack([module(x).relu() for module in self.used.values()]).sum(dim=0)


class PathNetwork(GrowingNetwork):
    """Layers of modules, of which each task's path uses one per layer, and one head.

    Examples
    --------
    >>> net = PathNetwork(784, hidden=(900, 900))
    >>> net.take([3, 0])
    >>> net.grow(2)
    >>> net(torch.zeros(1, 784)).shape
    torch.Size([1, 2])
    """

    def __init__(self, n_inputs: int, hidden: Sequence[int]) -> None:
        widths = [n_inputs, *hidden]
        layers = map(ModuleSum, widths, hidden)
        super().__init__(nn.Sequential(*layers), widths[-1])

    def take(self, path: Sequence[int]) -> None:
        """Add the modules on a path; those of earlier paths are frozen from now on."""
        for layer, number in zip(self.body.children(), path, strict=True):
            assert isinstance(layer, ModuleSum)
            layer.use(number)
        self.to(self.head.weight.device)


class RPSNet(Rehearsal):
    """Train the modules on a new random path; freeze those of earlier paths.

    Every layer has room for parallel modules. A task draws one of them in each layer: its path. A
    module that no earlier path has used is trained; one that was used is frozen. The network sums
    the outputs of all modules used so far, so nobody has to know the task of a sample. The loss is
    the cross-entropy over all classes seen, and the divergence of the softened scores of old
    classes from those of the network before the task, on samples of the task and on exemplars. When
    all modules are used, only the head learns.

    The released code tries eight paths and keeps the one that is best on test data, as it does
    with epochs; here there is one path, by the seed, and the last epoch counts. Its targets of the
    distillation are old scores beside ones and zeros, through one softmax, negative terms of the
    divergence are cut off, and the old weights are asked along the new path; here it is the plain
    divergence from what the old network answered. Its weight of the distillation grows with every
    task; here it stays. As there, exemplars are repeated, Adam's rate is halved twice in a task,
    and exemplars are not herded, but drawn at random.

    The modules of the release for digits are linear, and are summed before the ReLU. Such a sum is
    one linear module: to train a new one is to change the old ones, and freezing protects nothing.
    Its modules of convolutions have ReLUs inside, and so do these. There are 900 units in each, in
    place of 400 and 128, as in other methods here.

    Parameters
    ----------
    n_modules
        Largest number of modules in each layer. Only those in use count as memory.
    distillation
        Weight of the divergence.
    temperature
        By which scores are divided before it.
    repeats
        How often an exemplar is seen in an epoch.
    budget
        Number of exemplars in all.
    options
        As for `Trainer`; the learning rate is that of Adam.

    References
    ----------
    J. Rajasegaran et al., "Random Path Selection for Incremental Learning", NeurIPS 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = RPSNet(budget=200, hidden=(64, 64), epochs=4, batch_size=20, device="cpu")
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])
    >>> bool((model.predict(X / 16) == y).mean() > 0.85)
    True
    >>> all(1 < len(layer.used) <= 5 for layer in model.net.body)
    True
    """

    epochs = 10
    batch_size = 128
    learning_rate = 0.001
    n_modules: int = option(8, least=1)
    distillation: float = option(1.0, least=0)
    temperature: float = option(2.0, above=0)
    repeats: int = option(10, least=1)

    def new_network(self, n_outputs: int) -> GrowingNetwork:
        """Return a network without any module."""
        net = PathNetwork(self.n_inputs, self.hidden).to(self.device_)
        net.grow(n_outputs)
        return net

    def start_task(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Take a random path, and train on the task and the repeated exemplars."""
        drawn = torch.randint(self.n_modules, (len(self.hidden),), generator=self.random)
        self.net.take(drawn.tolist())
        if self.exemplars is None:
            return X, y
        old = self.exemplars
        return (
            torch.cat([*[old.X] * self.repeats, X]),
            torch.cat([*[old.y] * self.repeats, y]),
        )

    def optimiser(self) -> torch.optim.Optimizer:
        """Return Adam of the head and of the modules that are not frozen."""
        free = [weight for weight in self.net.parameters() if weight.requires_grad]
        return torch.optim.Adam(free, lr=self.learning_rate)

    def schedule(self, epoch: int) -> float:
        """Halve the rate after six, and after eight, tenths of the epochs."""
        return float(FALL ** sum(epoch >= share * self.epochs for share in (0.6, 0.8)))

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropy, and the divergence from the old network's answers."""
        scores = self.net(x)
        loss = nn.functional.cross_entropy(scores, y)
        if self.old_net is None:
            return loss
        old = self.old_net(x)
        now, before = (
            (part / self.temperature).log_softmax(dim=1)
            for part in (scores[:, : old.shape[1]], old)
        )
        apart = nn.functional.kl_div(now, before, reduction="batchmean", log_target=True)
        return loss + self.distillation * apart


METHOD = Method(
    name="rps-net",
    module=__name__,
    learner="RPSNet",
    family="architecture",
    backbones=True,
    keeps="2,000 samples and the modules used so far",
    reference="Rajasegaran et al., Random Path Selection for Incremental Learning, NeurIPS 2019",
    paper="RPS-Net",
    without={"budget": 0},
    grid={"learning_rate": [0.0003, 0.001, 0.003]},
)
