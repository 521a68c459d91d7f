"""What EWC, SI and MAS share: important weights are drawn back to where old tasks left them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from clsnet.methods.common.network import Perceptron
from clsnet.methods.common.trainer import Trainer
from clsnet.methods.declared_options import option


class Penalty(Trainer):
    """A trainer with the penalty ``strength * sum importance (weight - centre)^2``.

    The penalty's part of a step is taken implicitly, by its proximal operator: the fixed point is
    the same as that of the plain gradient, and no strength makes it diverge. So the gradients that
    a method sees are those of the loss alone. Outputs that a task adds have no importance yet.

    Parameters
    ----------
    strength
        Trade-off between old tasks and the new one.
    options
        As for `Trainer`.
    """

    strength: float = option(1.0, least=0)

    factor = 1.0  # of the strength, where a paper writes it with one half

    def start(self) -> None:
        """Hold nothing yet."""
        self.importance: dict[str, Tensor] = {}
        self.centre: dict[str, Tensor] = {}

    def remember(self, importance: dict[str, Tensor]) -> None:
        """Add a task's importance; from now on its last weights are the centre."""
        for name, weight in self.net.named_parameters():
            self.importance[name] = self.grown(self.importance, name) + importance[name]
            self.centre[name] = weight.detach().clone()

    def grown(self, kept: dict[str, Tensor], name: str) -> Tensor:
        """Return what is kept of a weight, with zeros for outputs that came later."""
        out = torch.zeros_like(self.net.get_parameter(name))
        if name in kept:
            out[: len(kept[name])] = kept[name]
        return out.detach()

    @torch.no_grad()
    def penalty(self) -> Tensor:
        """Return the penalty on the present weights."""
        total = torch.zeros((), device=self.device_)
        for name, importance in self.importance.items():
            weight = self.net.get_parameter(name)[: len(importance)]
            total += (importance * (weight - self.centre[name]) ** 2).sum()
        return self.factor * self.strength * total

    @torch.no_grad()
    def after_step(self) -> None:
        """Draw the weights back."""
        for name, importance in self.importance.items():
            weight = self.net.get_parameter(name)[: len(importance)]
            pull = 2 * self.learning_rate * self.factor * self.strength * importance
            weight += pull / (1 + pull) * (self.centre[name] - weight)

    def kept(self) -> dict[str, Tensor]:
        """Return importance and centre of every weight."""
        return {
            **{f"importance.{name}": tensor for name, tensor in self.importance.items()},
            **{f"centre.{name}": tensor for name, tensor in self.centre.items()},
        }


def summed_gradients(
    net: Perceptron, x: Tensor, value: Callable[[Tensor], Tensor], function: Callable[..., Tensor]
) -> dict[str, Tensor]:
    """Return, for every weight, the sum over samples of a function of its gradient.

    A sample's gradient of a layer's matrix is an outer product, of what comes back to the layer's
    outputs and of what went into it; for a function with f(ab) = f(a) f(b), such as the square or
    the modulus, the sum over samples is therefore one product of matrices.

    Parameters
    ----------
    net, x
        A network and samples.
    value
        Makes one number of all scores, a sum over samples.
    function
        Applied to the gradient of each sample.
    """
    names = [name for name, module in net.named_modules() if isinstance(module, nn.Linear)]
    inputs, outputs = net.trace(x)
    gradients = torch.autograd.grad(value(outputs[-1]), outputs)
    sums = {}
    for name, before, after in zip(names, inputs, gradients, strict=True):
        sums[f"{name}.weight"] = function(after).T @ function(before.detach())
        sums[f"{name}.bias"] = function(after).sum(dim=0)
    return sums
