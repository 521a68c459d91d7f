"""The network of the compared methods: the paper's multi-layer perceptron with a growing head."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Perceptron(nn.Module):
    """Inputs, hidden layers with ReLUs, and one output per class known so far.

    Examples
    --------
    >>> net = Perceptron(784, hidden=(900, 900))
    >>> net.grow(2)
    >>> net(torch.zeros(1, 784)).shape
    torch.Size([1, 2])
    """

    def __init__(self, n_inputs: int, hidden: Sequence[int] = (900, 900)) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for width in hidden:
            layers += [nn.Linear(n_inputs, width), nn.ReLU()]
            n_inputs = width
        self.body = nn.Sequential(*layers)
        with warnings.catch_warnings(action="ignore"):  # torch warns of an empty layer
            self.head = nn.Linear(n_inputs, 0)

    def forward(self, x: Tensor) -> Tensor:
        """Return one score per class."""
        scores: Tensor = self.head(self.body(x))
        return scores

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

    def grow(self, n_outputs: int) -> None:
        """Add outputs until there are `n_outputs`; the old ones stay as they are."""
        old = self.head
        if n_outputs > old.out_features:
            self.head = nn.Linear(old.in_features, n_outputs).to(old.weight.device)
            with torch.no_grad():
                self.head.weight[: old.out_features] = old.weight
                self.head.bias[: old.out_features] = old.bias
