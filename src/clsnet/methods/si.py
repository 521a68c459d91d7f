"""Synaptic intelligence."""

from __future__ import annotations

import torch
from torch import Tensor

from clsnet.methods.common.penalty import Penalty
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method


class SI(Penalty):
    """Pull each weight back to its old value, as strongly as its change has lowered the loss.

    During a task, ``-gradient * step`` is summed for each weight: its share in the fall of the
    loss, without the penalty. That sum, divided by the square of the weight's total change plus
    `damping`, is its importance. Importances of tasks add up; the centre is where the last task
    ended.

    Paper and released code differ in a sign: shares can be negative, and the code then cuts the
    sum of importances off at zero. So does this file.

    Parameters
    ----------
    strength
        The paper's c.
    damping
        The paper's xi.
    options
        As for `Penalty`.

    References
    ----------
    F. Zenke, B. Poole and S. Ganguli, "Continual Learning Through Synaptic Intelligence",
    ICML 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SI(hidden=(32, 32), epochs=3, batch_size=20, device="cpu")
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])

    With a softmax over all classes, it forgets nearly as much as fine-tuning does.

    >>> bool((model.predict(X / 16) == y).mean() < 0.5)
    True
    """

    tunable = True
    strength = 1e3
    damping: float = option(0.1, above=0)

    def start_task(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Set out: copies of the weights, for a view would move along with them."""
        self.origin = {name: w.detach().clone() for name, w in self.net.named_parameters()}
        self.share = {name: torch.zeros_like(w) for name, w in self.origin.items()}
        return X, y

    def before_step(self) -> None:
        """Remember where the step starts."""
        self.before = {name: w.detach().clone() for name, w in self.net.named_parameters()}

    @torch.no_grad()
    def after_step(self) -> None:
        """Draw the weights back, then credit each with its part of the step."""
        super().after_step()
        for name, weight in self.net.named_parameters():
            if weight.grad is not None:
                self.share[name] -= weight.grad * (weight - self.before[name])

    def end_task(self, X: Tensor, y: Tensor) -> None:
        """Turn the shares into importances."""
        new = {}
        for name, weight in self.net.named_parameters():
            way = (weight.detach() - self.origin[name]) ** 2
            new[name] = self.share[name] / (way + self.damping)
        self.remember(new)
        self.importance = {name: total.clamp(min=0) for name, total in self.importance.items()}
        del self.origin, self.share, self.before


METHOD = Method(
    name="si",
    module=__name__,
    learner="SI",
    family="regularisation",
    backbones=True,
    tunable=True,
    keeps="path integral and last value of every weight",
    reference="Zenke et al., Continual Learning Through Synaptic Intelligence, ICML 2017",
    paper="SI",
    without={"strength": 0.0},
    grid={"strength": [1e2, 1e3, 1e4, 1e5]},
)
