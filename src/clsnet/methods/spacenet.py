"""SpaceNet: sparse connections, one set per task."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from clsnet.images import Samples
from clsnet.methods.common.network import GrowingNetwork
from clsnet.methods.common.phase import Phase
from clsnet.methods.common.trainer import Trainer
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method

HEAD_DENSITY = 0.5


class SpaceNet(Trainer):
    """Learn sparse connections for each task, and freeze them after it.

    A task gets a part of the free neurons of each hidden layer, and random connections among them,
    the inputs and the outputs of its classes. After each epoch but the last, the least important
    connections of a layer are dropped. As many grow, from zero, where the product of the
    importances of both neurons is greatest. The importance of a connection is the sum of
    ``|gradient * change|`` over all steps of the task; that of a neuron is the sum over its
    incoming connections, and for inputs over the outgoing ones. Then the connections are frozen
    and the most important neurons reserved: no later task puts a connection on them. Other neurons
    go on to be shared, so old outputs can change although no old weight does.

    A task is learned on the outputs of its own classes, and one constant zero in place of all
    others, so that its scores are high for its own samples alone. Classes of different tasks never
    meet in training, hence a sample's scores in another task are what they happen to be; that is
    where most errors come from.

    The released code counts on five tasks: each gets 80 of 400 neurons and reserves 40. Here a
    task gets a share of the neurons that are still free, so they last for any number of tasks.
    There, classes to come have an output each that stays zero; here one zero stands for all. There,
    new weights are scaled to a full layer, here to the connections of a neuron; biases of
    neurons that are not reserved go on to change, here a bias belongs to the first task that uses
    the neuron; and the importance of a neuron is summed again in each step. As there, inputs are
    standardised, here by mean and deviation over the first task.

    Parameters
    ----------
    share
        Part of the free neurons of a layer that a task gets.
    density
        Part of the places between these neurons that its connections take; at the outputs, half.
    replaced
        Part of the connections that is exchanged after an epoch.
    reserved
        Part of its neurons that a task reserves.
    freezing
        Whether old connections stay as they are. Without, it is fine-tuning of a sparse network,
        by the outputs of all classes so far.
    options
        As for `Trainer`.

    References
    ----------
    G. Sokar, D. C. Mocanu and M. Pechenizkiy, "SpaceNet: Make Free Space for Continual Learning",
    Neurocomputing 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SpaceNet(epochs=10, learning_rate=0.03, batch_size=20, device="cpu")
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])
    >>> bool((model.predict(X / 16) == y).mean() > 0.5)
    True
    """

    epochs = 4
    learning_rate = 0.01
    share: float = option(0.2, least=0, most=1)
    density: float = option(0.2, least=0, most=1)
    replaced: float = option(0.2, least=0, most=1)
    reserved: float = option(0.5, least=0, most=1)
    freezing: bool = option(True)

    def as_input(self, X: Samples) -> Tensor:
        """Return inputs less their mean over the first task, by their deviation there."""
        x = super().as_input(X)
        if self.task == 0:
            self.mean, self.deviation = float(x.mean()), float(x.std()) or 1.0
        return (x - self.mean) / self.deviation

    def new_network(self, n_outputs: int) -> GrowingNetwork:
        """Return a network without connections."""
        net = super().new_network(n_outputs)
        for weight in net.parameters():
            nn.init.zeros_(weight)
        return net

    def start(self) -> None:
        """Have all neurons free."""
        none = torch.zeros(max(self.hidden, default=0), dtype=torch.bool, device=self.device_)
        self.taken = [none[:width].clone() for width in self.hidden]

    def fit_task(self, X: Tensor, y: Tensor) -> None:
        """Choose connections, train them, and exchange some after each epoch but the last."""
        self.allocate(y)
        optimiser = self.optimiser()
        for epoch in range(self.epochs):
            if epoch:
                self.drop_and_grow()
            self.train(X, y, Phase(optimiser, self.loss, 1, before_step=self.before_step))
        self.reserve()
        del self.own, self.chosen, self.places, self.connections, self.biases, self.importance

    @torch.no_grad()
    def allocate(self, y: Tensor) -> None:
        """Choose neurons among the free ones, and random connections among these."""
        layers = self.net.layers()
        for weight in self.net.head.parameters():
            weight[self.new] = 0
        self.own = torch.unique(y)
        if not self.freezing:
            self.own = torch.arange(len(self.labels), device=self.device_)
        inputs = torch.ones(self.n_inputs, dtype=torch.bool, device=self.device_)
        outputs = torch.isin(torch.arange(len(self.labels), device=self.device_), self.own)
        hidden = [self.part(~taken, self.share) for taken in self.taken]
        self.chosen = [inputs, *hidden, outputs]
        densities = [self.density] * len(hidden) + [HEAD_DENSITY]
        self.places, self.connections, self.biases, self.importance = [], [], [], []
        for i, layer in enumerate(layers):
            unused = layer.weight == 0
            self.biases.append(self.chosen[i + 1] & (layer.bias == 0))
            self.places.append(torch.outer(self.chosen[i + 1], self.chosen[i]) & unused)
            self.connections.append(self.part(self.places[i], densities[i]))
            self.importance.append(torch.zeros_like(layer.weight))
            layer.weight += self.new_weights(self.connections[i])

    @staticmethod
    def new_weights(connections: Tensor) -> Tensor:
        """Return random weights with a variance of one over the connections of their neuron."""
        n_inputs = connections.sum(dim=1, keepdim=True).clamp(min=1)
        weights = torch.empty(connections.shape).uniform_(-1, 1).to(connections.device)
        return weights * (3 / n_inputs).sqrt() * connections

    def part(self, among: Tensor, share: float) -> Tensor:
        """Return a random share of what is true, and at least one."""
        places = among.flatten().nonzero().flatten()
        n = max(1, round(share * len(places)))
        drawn = torch.randperm(len(places), generator=self.random)[:n].to(self.device_)
        part = torch.zeros_like(among)
        part.view(-1)[places[drawn]] = True
        return part

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropy over the task's classes and a zero for all others."""
        scores = self.net(x)[:, self.own]
        others = scores.new_zeros(len(x), 1)
        target = torch.searchsorted(self.own, y)
        return nn.functional.cross_entropy(torch.cat([scores, others], dim=1), target)

    @torch.no_grad()
    def before_step(self) -> None:
        """Let only the task's connections change, and add to their importance.

        The change of a weight will be its gradient times the rate.
        """
        for i, layer in enumerate(self.net.layers()):
            trained, bias = self.connections[i], self.biases[i]
            if not self.freezing:
                trained, bias = trained | (layer.weight != 0), torch.ones_like(bias)
            assert layer.weight.grad is not None and layer.bias.grad is not None
            gradient = layer.weight.grad.masked_fill_(~trained, 0)
            layer.bias.grad.masked_fill_(~bias, 0)
            self.importance[i].addcmul_(gradient, gradient, value=self.rate)

    @torch.no_grad()
    def drop_and_grow(self) -> None:
        """Exchange the least important connections for others between important neurons."""
        neurons = self.importance_of_neurons()
        for i, layer in enumerate(self.net.layers()[:-1]):
            connections, empty = self.connections[i], self.places[i] & ~self.connections[i]
            n = min(int(self.replaced * connections.sum()), int(empty.sum()))
            least = self.importance[i].masked_fill(~connections, math.inf)
            best = torch.outer(neurons[i + 1], neurons[i]).masked_fill(~empty, -1)
            dropped = least.flatten().topk(n, largest=False).indices
            connections.view(-1)[dropped] = False
            layer.weight.view(-1)[dropped] = 0
            connections.view(-1)[best.flatten().topk(n).indices] = True

    def importance_of_neurons(self) -> list[Tensor]:
        """Return the sum over incoming connections; for inputs, over outgoing ones."""
        incoming = [importance.sum(dim=1) for importance in self.importance]
        return [self.importance[0].sum(dim=0), *incoming]

    def reserve(self) -> None:
        """Take the most important of the chosen neurons away from later tasks."""
        for i, importance in enumerate(self.importance_of_neurons()[1:-1]):
            chosen = self.chosen[i + 1]
            n = round(self.reserved * int(chosen.sum()))
            self.taken[i][importance.masked_fill(~chosen, -1).topk(n).indices] = True

    def kept(self) -> dict[str, Tensor]:
        """Return which neurons are reserved; frozen connections are weights other than zero."""
        return {f"taken.{i}": taken for i, taken in enumerate(self.taken)}


METHOD = Method(
    name="spacenet",
    module=__name__,
    learner="SpaceNet",
    family="architecture",
    backbones=True,
    keeps="frozen connections and reserved neurons",
    reference="Sokar et al., SpaceNet: Make Free Space for Continual Learning, Neurocomputing 2021",
    paper="SpaceNet",
    without={"freezing": False},
    grid={"learning_rate": [0.01, 0.03, 0.1]},
)
