"""Orthogonal weights modification."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from clsnet.methods.common.placeholder_output import PlaceholderOutput
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method


class OWM(PlaceholderOutput):
    """Change each layer only in directions orthogonal to its earlier inputs.

    Every layer has a projector P over its inputs and a constant 1 for the bias, at first the
    identity. Each batch's mean input r takes its direction out by recursive least squares,
    ``P -= P r r' P / (alpha + r' P r)``, and the gradient is multiplied by P; so P is the inverse
    of ``I + sum r r' / alpha``. As in the authors' code this goes on while a task is learned, its
    own batches included, and alpha falls during each task: from 0.9 to 0.0009 for the first layer,
    from 1 to 0.1 for hidden ones, and stays at 0.6 for the last. The rate is lower than theirs
    (0.2), with which five tasks of Fashion-MNIST are half forgotten, and gradients are not clipped.

    Their network has the outputs of all classes from the start; here one output stands for those
    to come (see `PlaceholderOutput`).

    Parameters
    ----------
    momentum
        Of the gradient descent.
    projecting
        Whether gradients are projected; without, it is fine-tuning.
    options
        As for `Trainer`.

    References
    ----------
    G. Zeng et al., "Continual learning of context-dependent processing in neural networks",
    Nature Machine Intelligence 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = OWM(hidden=(100,), device="cpu")
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])
    >>> bool((model.predict(X / 16) == y).mean() > 0.6)
    True
    """

    epochs = 3
    batch_size = 40
    learning_rate = 0.02
    momentum: float = option(0.9, least=0, most=1)
    projecting: bool = option(True)

    def start(self) -> None:
        """Have no projectors yet."""
        self.projectors: list[Tensor] = []

    def start_task(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Make the projectors; count the steps to come."""
        if self.task == 0 and self.projecting:
            sizes = [layer.in_features + 1 for layer in self.net.layers()]
            self.projectors = [torch.eye(size, device=self.device_) for size in sizes]
        self.step, self.steps = 0, self.epochs * -(-len(y) // self.batch_size)
        return super().start_task(X, y)

    def optimiser(self) -> torch.optim.Optimizer:
        """Return gradient descent with momentum."""
        return torch.optim.SGD(self.net.parameters(), lr=self.learning_rate, momentum=self.momentum)

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropy over known classes and the placeholder."""
        self.inputs, self.outputs = self.net.trace(x)
        for output in self.outputs:
            output.retain_grad()
        return nn.functional.cross_entropy(self.outputs[-1], y)

    @torch.no_grad()
    def before_step(self) -> None:
        """Update each projector by the batch, then project the gradient."""
        if self.projecting:
            self.project_gradients()
        self.step += 1
        self.inputs, self.outputs = [], []

    def project_gradients(self) -> None:
        """Replace the gradient of each layer by its projection."""
        layers = self.net.layers()
        for place, layer in enumerate(layers):
            projector, output = self.projectors[place], self.outputs[place].grad
            inputs = nn.functional.pad(self.inputs[place], (0, 1), value=1.0)
            update(projector, inputs.mean(dim=0), self.alpha(place, len(layers)))
            # Projecting a batch of inputs is cheaper than projecting their gradient.
            assert output is not None
            gradient = output.T @ (inputs @ projector)
            layer.weight.grad = gradient[:, :-1].contiguous()
            layer.bias.grad = gradient[:, -1].contiguous()

    def alpha(self, place: int, n_layers: int) -> float:
        """Return the authors' alpha of a layer at this step of a task."""
        part = self.step / self.steps
        if place == n_layers - 1:
            return 0.6
        return float(0.9 * 0.001**part) if place == 0 else float(0.1**part)

    def kept(self) -> dict[str, Tensor]:
        """Return the projectors."""
        return {f"projector.{place}": P for place, P in enumerate(self.projectors)}


def update(projector: Tensor, r: Tensor, alpha: float) -> None:
    """Take a direction out of a projector, in place.

    Examples
    --------
    >>> projector = torch.eye(2)
    >>> update(projector, torch.tensor([0.0, 3.0]), alpha=1.0)
    >>> projector.diag()
    tensor([1.0000, 0.1000])
    """
    k = projector @ r
    projector -= torch.outer(k / (alpha + r @ k), k)


METHOD = Method(
    name="owm",
    module=__name__,
    learner="OWM",
    family="regularisation",
    backbones=True,
    keeps="a projector over the inputs of each layer",
    reference="Zeng et al., Continual learning of context-dependent processing in neural networks, "
    "Nature Machine Intelligence 2019",
    paper="OWM",
    without={"projecting": False},
    grid={"learning_rate": [0.01, 0.02, 0.05]},
)
