"""The base class of EWC, SI and MAS: important weights are pulled back to their old values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from clsnet.methods.common.trainer import TUNED_MOMENTUM, Trainer
from clsnet.methods.declared_options import option

TUNED_CHUNK = 50  # images whose own gradients of a whole network fit into memory
LAYERS = (nn.Linear, nn.Conv2d, nn.BatchNorm2d)


class Penalty(Trainer):
    """A trainer with the penalty ``strength * sum importance (weight - centre)^2``.

    The penalty is applied by its proximal operator (an implicit step): the fixed point is that of
    the plain gradient, and no strength makes it diverge. So the gradients that a method sees are
    those of the loss alone. New outputs have no importance yet.

    Parameters
    ----------
    strength
        Trade-off between old tasks and the new one.
    own_outputs
        Whether the loss and the importance of a task cover only the outputs of its own classes, so
        that no task lowers the outputs of other classes. Predictions are always among all classes.
    options
        As for `Trainer`.
    """

    strength: float = option(1.0, least=0)
    own_outputs: bool = option(False)

    factor = 1.0  # of the strength, where a paper writes it with one half

    def start(self) -> None:
        """Hold nothing yet."""
        self.importance: dict[str, Tensor] = {}
        self.centre: dict[str, Tensor] = {}

    def fit_task(self, X: Tensor, y: Tensor) -> None:
        """Learn a task, and know meanwhile which classes it has."""
        self.own = torch.unique(y)
        super().fit_task(X, y)
        del self.own

    def learned(self, scores: Tensor) -> Tensor:
        """Return the outputs that the task is learned on."""
        return scores[:, self.own] if self.own_outputs else scores

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the loss on a batch, over the outputs that the task is learned on."""
        target = torch.searchsorted(self.own, y) if self.own_outputs else y
        return nn.functional.cross_entropy(self.learned(self.net(x)), target)

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
        rate = self.rate / (1 - TUNED_MOMENTUM) if self.tuned else self.rate
        for name, importance in self.importance.items():
            weight = self.net.get_parameter(name)[: len(importance)]
            pull = 2 * rate * self.factor * self.strength * importance
            weight += pull / (1 + pull) * (self.centre[name] - weight)

    def kept(self) -> dict[str, Tensor]:
        """Return importance and centre of every weight."""
        return {
            **{f"importance.{name}": tensor for name, tensor in self.importance.items()},
            **{f"centre.{name}": tensor for name, tensor in self.centre.items()},
        }


def summed_gradients(
    net: nn.Module, x: Tensor, value: Callable[[Tensor], Tensor], function: Callable[..., Tensor]
) -> dict[str, Tensor]:
    """Return, for every weight, the sum over samples of a function of its gradient.

    Parameters
    ----------
    net, x
        A network and samples.
    value
        Makes one number of all scores, a sum over samples.
    function
        Applied to the gradient of each sample; f(ab) = f(a) f(b), as for the square.
    """
    layers = {name: each for name, each in net.named_modules() if isinstance(each, LAYERS)}
    inputs: dict[nn.Module, Tensor] = {}
    outputs: dict[nn.Module, Tensor] = {}

    def keep(layer: nn.Module, given: tuple[Tensor], out: Tensor) -> Tensor:
        inputs[layer], outputs[layer] = given[0].detach(), out
        return out.clone()  # the next layer may work in place

    net.eval()
    hooks = [layer.register_forward_hook(keep) for layer in layers.values()]
    scores = net(x)
    for hook in hooks:
        hook.remove()
    gradients = torch.autograd.grad(value(scores), [outputs[layer] for layer in layers.values()])
    sums = {}
    for (name, layer), after in zip(layers.items(), gradients, strict=True):
        weight, bias = _sums(layer, inputs[layer].float(), after.float(), function)
        sums[f"{name}.weight"] = weight
        if layer.bias is not None:
            sums[f"{name}.bias"] = bias
    return sums


def _sums(
    layer: nn.Module, before: Tensor, after: Tensor, function: Callable[..., Tensor]
) -> tuple[Tensor, Tensor]:
    """Return the sums of one layer from what went in, and what comes back to its outputs.

    A sample's gradient of a linear layer is an outer product, so that the sum over samples is one
    product of matrices. That of a convolution is a sum of outer products over all places.
    """
    if isinstance(layer, nn.Linear):
        return function(after).T @ function(before), function(after).sum(dim=0)
    bias = function(after.sum(dim=(2, 3))).sum(dim=0)
    if isinstance(layer, nn.Conv2d):
        size: Any = {"padding": layer.padding, "stride": layer.stride}
        patches = nn.functional.unfold(before, layer.kernel_size, **size)
        weight = function(after.flatten(2) @ patches.transpose(1, 2)).sum(dim=0)
        return weight.view_as(layer.weight), bias
    assert isinstance(layer, nn.BatchNorm2d)
    unit = nn.functional.batch_norm(before, layer.running_mean, layer.running_var, eps=layer.eps)
    return function((after * unit).sum(dim=(2, 3))).sum(dim=0), bias
