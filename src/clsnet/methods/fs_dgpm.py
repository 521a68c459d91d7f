"""Flattening sharpness with dynamic gradient projection memory."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.func import functional_call

from clsnet.methods.common.rehearsal import Rehearsal
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method

SAMPLES = 300  # of which the inputs of a layer are decomposed
TEMPERATURE = 10.0


class FSDGPM(Rehearsal):
    """Slow down steps in directions of old inputs; make the loss flat in them.

    After each task, the inputs of every layer for 300 exemplars are decomposed. The directions
    that hold a share of their energy are the layer's bases, found anew each time. Each has a
    weight from 0 to 1, by which steps along it are held back.

    For a step, the weights of the layers are first moved up the loss of the batch, within the bases
    and as far as these weigh, by one half of the batch after the other. After each half, the loss
    on the batch and as many exemplars is taken there. The gradient of the mean of both losses
    loses its part in the bases, as far as they weigh, and is the step. The weight of a basis falls
    where the batch and the exemplars agree about it, and rises where they do not. In the first
    task there are no bases, and the weights are moved up as they are.

    The released code passes the weights of bases through a sigmoid at each step, which keeps them
    at 1, and then goes on to optimise tensors that are no longer in use. Here a weight is the
    sigmoid, at their temperature of 10, of a number that gradient descent moves. The release
    also knows the task at test. Biases are neither projected nor moved up.

    The bases were checked against the release: for the same inputs and share, they span the same.

    Parameters
    ----------
    share
        Of the energy of a layer's inputs that the bases hold.
    weight
        Of each basis at first. 1: it stays so, and no step changes what a layer answers to inputs
        within its bases, as in gradient projection memory.
    weight_rate
        Learning rate of the weights of bases.
    rise
        Rate of the steps up the loss.
    momentum
        Of the gradient descent.
    options
        As for `Rehearsal`.

    References
    ----------
    D. Deng et al., "Flattening Sharpness for Dynamic Gradient Projection Memory Benefits Continual
    Learning", NeurIPS 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = FSDGPM(budget=200, hidden=(32, 32), epochs=5, batch_size=20, device="cpu")
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])
    >>> bool((model.predict(X / 16) == y).mean() > 0.8)
    True
    """

    epochs = 3
    learning_rate = 0.03
    share: float = option(0.99, least=0, most=1)
    weight: float = option(0.5, least=0, most=1)
    weight_rate: float = option(10.0, least=0)
    rise: float = option(0.05, least=0)
    momentum: float = option(0.9, least=0, most=1)

    def start(self) -> None:
        """Have no bases yet."""
        self.bases: list[Tensor] = []
        self.weights: list[Tensor] = []

    def optimiser(self) -> torch.optim.Optimizer:
        """Return gradient descent with momentum."""
        return torch.optim.SGD(self.net.parameters(), lr=self.learning_rate, momentum=self.momentum)

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the mean loss at the weights moved up by one half of the batch, and by both."""
        both, codes = self.with_exemplars(x, y)
        parameters = dict(self.net.named_parameters())
        names = [name for name, weight in parameters.items() if weight.ndim == 2]
        losses = []
        for half, targets in zip(x.chunk(2), y.chunk(2), strict=True):
            loss = self.loss_at(parameters, half, targets)
            gradients = torch.autograd.grad(loss, [parameters[name] for name in names])
            for place, name in enumerate(names):
                within = self.within_bases(place, gradients[place])
                parameters[name] = parameters[name] + self.rise * within
            losses.append(self.loss_at(parameters, both, codes))
        return torch.stack(losses).mean()

    def loss_at(self, parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropy of the network with other parameters."""
        return nn.functional.cross_entropy(functional_call(self.net, parameters, (x,)), y)

    def with_exemplars(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return a batch and as many exemplars."""
        if self.exemplars is None:
            return x, y
        rows = torch.randperm(len(self.exemplars), generator=self.random)[: len(y)].to(y.device)
        return torch.cat([x, self.exemplars.X[rows]]), torch.cat([y, self.exemplars.y[rows]])

    def within_bases(self, place: int, gradient: Tensor) -> Tensor:
        """Return the part of a layer's gradient in its bases, as far as they weigh."""
        if not self.bases:
            return gradient
        return (gradient @ self.bases[place] * self.weights[place]) @ self.bases[place].T

    @torch.no_grad()
    def before_step(self) -> None:
        """Move the weights of the bases, then take the gradient's part in the bases away."""
        if not self.bases:
            return
        for place, layer in enumerate(self.net.layers()):
            weight = self.weights[place]
            if weight.grad is not None:
                slope = TEMPERATURE * weight * (1 - weight) * weight.grad
                weight.copy_(torch.sigmoid(weight.logit() - TEMPERATURE * self.weight_rate * slope))
                weight.grad = None
            assert layer.weight.grad is not None
            layer.weight.grad -= self.within_bases(place, layer.weight.grad)

    def end_task(self, X: Tensor, y: Tensor) -> None:
        """Choose the exemplars, and find the bases anew."""
        super().end_task(X, y)
        assert self.exemplars is not None
        if not len(self.exemplars):
            return
        rows = torch.randperm(len(self.exemplars), generator=self.random)[:SAMPLES]
        with torch.no_grad():
            inputs, _ = self.net.trace(self.exemplars.X[rows.to(self.device_)])
        self.bases = [principal_directions(each, self.share) for each in inputs]
        self.weights = [
            torch.full((bases.shape[1],), self.weight, device=self.device_, requires_grad=True)
            for bases in self.bases
        ]

    def kept(self) -> dict[str, Tensor]:
        """Return the bases and their weights."""
        kept = {f"bases.{place}": bases for place, bases in enumerate(self.bases)}
        return kept | {f"weights.{place}": each for place, each in enumerate(self.weights)}


def principal_directions(inputs: Tensor, share: float) -> Tensor:
    """Return the fewest directions, as columns, that hold a share of the energy of inputs.

    Examples
    --------
    >>> principal_directions(torch.diag(torch.tensor([3.0, 2.0, 0.1])), share=0.99).abs()
    tensor([[1., 0.],
            [0., 1.],
            [0., 0.]])
    """
    _, values, directions = torch.linalg.svd(inputs.double(), full_matrices=False)
    energy = values.square().cumsum(dim=0)
    count = int((energy < share * energy[-1]).sum()) + 1
    found: Tensor = directions[:count].T.to(inputs).contiguous()
    return found


METHOD = Method(
    name="fs-dgpm",
    module=__name__,
    learner="FSDGPM",
    family="rehearsal",
    backbones=True,
    keeps="2,000 samples and weighted bases of the inputs of each layer",
    reference="Deng et al., Flattening Sharpness for Dynamic Gradient Projection Memory Benefits "
    "Continual Learning, NeurIPS 2021",
    paper="FS-DGPM",
    without={"budget": 0},
    grid={"learning_rate": [0.01, 0.03, 0.1], "share": [0.9, 0.99]},
)
