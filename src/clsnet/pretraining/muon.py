"""Gradient descent with orthogonal steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

import torch
from torch import Tensor, nn

ROUNDS = 5
SMALL = 1e-7


class Muon(torch.optim.SGD):
    """Stochastic gradient descent; the step of a convolution is an orthogonal matrix.

    Momentum is added up as usual, but its singular values are all made one, so that rare
    directions move as far as frequent ones. Such weights keep their norm: where a normalisation
    follows, only their direction counts, and they need no decay.

    Parameters
    ----------
    groups
        Parameters of plain gradient descent, with their options.
    convolutions
        Weights (outputs, inputs, height, width) of orthogonal steps; there may be none. Their
        learning rate is the change in one step, as a share of their norm.
    momentum
        Of all.
    fused
        As for `torch.optim.SGD`.

    References
    ----------
    K. Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024.

    Examples
    --------
    >>> weight = nn.Parameter(torch.eye(4).reshape(4, 4, 1, 1))
    >>> optimiser = Muon([], [weight], momentum=0.9)
    >>> optimiser.param_groups[-1]["lr"] = 0.1
    >>> weight.square().sum().backward()
    >>> optimiser.step()
    >>> round(weight.norm().item(), 4)
    2.0
    """

    def __init__(
        self,
        groups: Iterable[dict[str, Any]],
        convolutions: list[nn.Parameter],
        momentum: float,
        fused: bool = False,
    ) -> None:
        plain = {"momentum": 0.0, "nesterov": False, "weight_decay": 0.0}
        last = {"params": convolutions, **plain}
        super().__init__([*groups, last], lr=0.0, momentum=momentum, nesterov=True, fused=fused)
        self.momentum = momentum
        for group in self.param_groups:
            for weight in group["params"]:  # a fused first step that is left out would set none
                self.state[weight]["momentum_buffer"] = torch.zeros_like(weight)
        self.alike: dict[int, list[nn.Parameter]] = {}
        for weight in convolutions:
            self.alike.setdefault(len(weight), []).append(weight)
        self._keep_norms()

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Make one step; gradients must not be scaled."""
        for outputs, weights in self.alike.items():
            gradients = [_gradient(weight) for weight in weights]
            steps = orthogonal(_stacked(self._gathered(weights, gradients)))
            steps *= outputs**0.5 / (steps.norm(dim=(1, 2), keepdim=True) + SMALL)
            for gradient, step in zip(gradients, steps, strict=True):
                place = gradient.permute(0, 2, 3, 1)
                place.copy_(step[:, : place[0].numel()].reshape(place.shape))
        super().step(closure)
        self._keep_norms()

    def _gathered(self, weights: list[nn.Parameter], gradients: list[Tensor]) -> list[Tensor]:
        """Add gradients to the momentum, unless one is infinite; return where to go."""
        before = [self.state[weight]["momentum_buffer"] for weight in weights]
        after = torch._foreach_add(torch._foreach_mul(before, self.momentum), gradients)
        infinite = getattr(self, "found_inf", None)  # left here by a scaler of losses
        if infinite is not None:
            after = tuple(map(torch.where, repeat(infinite > 0), before, after))
        for weight, buffer in zip(weights, after, strict=True):
            self.state[weight]["momentum_buffer"] = buffer
        return list(torch._foreach_add(gradients, after, alpha=self.momentum))

    @torch.no_grad()
    def _keep_norms(self) -> None:
        if weights := self.param_groups[-1]["params"]:
            torch._foreach_div_(weights, torch._foreach_norm(weights))
            torch._foreach_mul_(weights, [len(weight) ** 0.5 for weight in weights])


def orthogonal(matrices: Tensor) -> Tensor:
    """Return matrices with the same singular vectors and singular values near one.

    An odd polynomial of degree five is applied a few times; it drives all singular values of at
    most one, however small, towards 0.7 to 1.2.

    Examples
    --------
    >>> matrix = torch.diag(torch.tensor([4.0, 2.0, 0.1]))[None]
    >>> values = torch.linalg.svdvals(orthogonal(matrix))
    >>> bool(((values > 0.6) & (values < 1.3)).all())
    True
    """
    fast = torch.bfloat16 if matrices.device.type == "cuda" else torch.float32
    X = (matrices / (matrices.norm(dim=(1, 2), keepdim=True) + SMALL)).to(fast)
    tall = X.shape[1] > X.shape[2]
    if tall:
        X = X.mT
    for _ in range(ROUNDS):
        A = X @ X.mT
        B = torch.baddbmm(A, A, A, beta=-4.7750, alpha=2.0315)
        X = torch.baddbmm(X, B, X, beta=3.4445)
    out: Tensor = (X.mT if tall else X).float()
    return out


def _gradient(weight: nn.Parameter) -> Tensor:
    assert weight.grad is not None
    return weight.grad


def _stacked(weights: list[Tensor]) -> Tensor:
    """Return matrices of as many columns as the longest has; zeros change no singular value."""
    columns = max(weight[0].numel() for weight in weights)
    out = weights[0].new_zeros(len(weights), len(weights[0]), columns)
    for matrix, weight in zip(out, weights, strict=True):
        matrix[:, : weight[0].numel()].copy_(weight.permute(0, 2, 3, 1).flatten(1))
    return out
