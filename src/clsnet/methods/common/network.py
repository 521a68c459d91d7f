"""Networks with a growing head; the compared methods have the paper's multi-layer perceptron."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch
from torch import Tensor, nn


class GrowingNetwork(nn.Module):
    """Any network that makes features of samples, and one output per class known so far.

    Parameters
    ----------
    body
        Maps samples to features.
    width
        Number of features.

    Examples
    --------
    >>> net = GrowingNetwork(nn.Flatten(), width=64)
    >>> net.grow(3)
    >>> net(torch.zeros(2, 8, 8)).shape
    torch.Size([2, 3])
    """

    def __init__(self, body: nn.Module, width: int) -> None:
        super().__init__()
        self.body = body
        with warnings.catch_warnings(action="ignore"):  # torch warns of an empty layer
            self.head = nn.Linear(width, 0)

    def features(self, x: Tensor) -> Tensor:
        """Return what goes into the head."""
        features: Tensor = self.body(x)
        return features

    def forward(self, x: Tensor) -> Tensor:
        """Return one score per class."""
        scores: Tensor = self.head(self.features(x))
        return scores

    def grow(self, n_outputs: int) -> None:
        """Add outputs until there are `n_outputs`; the old ones stay as they are."""
        old = self.head
        if n_outputs > old.out_features:
            self.head = nn.Linear(old.in_features, n_outputs).to(old.weight.device)
            with torch.no_grad():
                self.head.weight[: old.out_features] = old.weight
                self.head.bias[: old.out_features] = old.bias


class Perceptron(GrowingNetwork):
    """Inputs, hidden layers with ReLUs, and the head.

    Examples
    --------
    >>> net = Perceptron(784, hidden=(900, 900))
    >>> net.grow(2)
    >>> net(torch.zeros(1, 784)).shape
    torch.Size([1, 2])
    """

    def __init__(self, n_inputs: int, hidden: Sequence[int] = (900, 900)) -> None:
        layers: list[nn.Module] = []
        for width in hidden:
            layers += [nn.Linear(n_inputs, width), nn.ReLU()]
            n_inputs = width
        super().__init__(nn.Sequential(*layers), n_inputs)

    def layers(self) -> list[nn.Linear]:
        """Return the layers that have weights."""
        return [layer for layer in self.modules() if isinstance(layer, nn.Linear)]

    def trace(self, x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Return what goes into each of these layers, and what comes out; last, the scores."""
        inputs, outputs = [x], [self.layers()[0](x)]
        for layer in self.layers()[1:]:
            inputs.append(outputs[-1].relu())
            outputs.append(layer(inputs[-1]))
        return inputs, outputs
