"""Gradient descent with orthogonal steps."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat

import torch
from torch import Tensor
from torch.optim.sgd import sgd

ROUNDS = 5
FIRST, SECOND, THIRD = 3.4445, -4.7750, 2.0315  # coefficients of the polynomial
SMALL = 1e-7


@dataclass(frozen=True)
class Group:
    """Weights that learn alike.

    Parameters
    ----------
    weights
        The weights.
    rate
        Their highest learning rate; of orthogonal steps, the change as a share of the norm.
    decay
        Of the weights towards zero.
    """

    weights: list[Tensor]
    rate: float
    decay: float = 0.0


class Muon:
    """Stochastic gradient descent; the step of a convolution is an orthogonal matrix.

    Momentum is added up as usual, but its singular values are all made one, so that rare
    directions move as far as frequent ones. Such weights keep their norm: where a normalisation
    follows, only their direction counts, and they need no decay.

    It is no `torch.optim.Optimizer`: the first of these imports a compiler, which takes seconds.

    Parameters
    ----------
    plain
        Weights of plain gradient descent.
    orthogonal
        Weights (outputs, inputs, height, width) of orthogonal steps; there may be none.
    momentum
        Of all.

    References
    ----------
    K. Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024.

    Examples
    --------
    >>> weight = torch.nn.Parameter(torch.eye(4).reshape(4, 4, 1, 1))
    >>> optimiser = Muon([], Group([weight], rate=0.1), momentum=0.9)
    >>> weight.square().sum().backward()
    >>> optimiser.step()
    >>> round(weight.norm().item(), 4)
    2.0
    """

    def __init__(self, plain: list[Group], orthogonal: Group, momentum: float) -> None:
        self.plain = plain
        self.orthogonal = orthogonal
        self.momentum = momentum
        self.momenta = {
            weight: torch.zeros_like(weight, requires_grad=False)
            for group in (*plain, orthogonal)
            for weight in group.weights
        }
        self.alike: dict[int, list[Tensor]] = {}
        for weight in orthogonal.weights:
            self.alike.setdefault(len(weight), []).append(weight)
        self._keep_norms()

    @torch.no_grad()
    def step(self, share: float = 1.0, infinite: Tensor | None = None) -> None:
        """Make one step, by a share of the highest rates; none if `infinite` is one, not zero."""
        for outputs, weights in self.alike.items():
            gradients = _gradients(weights)
            steps = orthogonal(_stacked(self._gathered(weights, gradients, infinite)))
            steps *= outputs**0.5 / (steps.norm(dim=(1, 2), keepdim=True) + SMALL)
            for gradient, step in zip(gradients, steps, strict=True):
                place = gradient.permute(0, 2, 3, 1)
                place.copy_(step[:, : place[0].numel()].reshape(place.shape))
        self._descend(self.orthogonal, share, 0.0, infinite)
        for group in self.plain:
            self._descend(group, share, self.momentum, infinite)
        self._keep_norms()

    def _descend(
        self, group: Group, share: float, momentum: float, infinite: Tensor | None
    ) -> None:
        sgd(
            group.weights,
            _gradients(group.weights),
            [self.momenta[weight] for weight in group.weights],
            fused=True,  # so a GPU finds out by itself whether to make the step
            found_inf=infinite,
            weight_decay=group.decay,
            momentum=momentum,
            lr=share * group.rate,
            dampening=0.0,
            nesterov=momentum > 0,
            maximize=False,
        )

    def _gathered(
        self, weights: list[Tensor], gradients: list[Tensor], infinite: Tensor | None
    ) -> list[Tensor]:
        """Add gradients to the momentum, unless one is infinite; return where to go."""
        before = [self.momenta[weight] for weight in weights]
        after = torch._foreach_add(torch._foreach_mul(before, self.momentum), gradients)
        if infinite is not None:
            after = tuple(map(torch.where, repeat(infinite > 0), before, after))
        self.momenta.update(zip(weights, after, strict=True))
        return list(torch._foreach_add(gradients, after, alpha=self.momentum))

    @torch.no_grad()
    def _keep_norms(self) -> None:
        if weights := self.orthogonal.weights:
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
    X = by_products(X) if fast == torch.bfloat16 else by_gram_matrix(X)
    out: Tensor = (X.mT if tall else X).float()
    return out


def by_products(X: Tensor) -> Tensor:
    """Apply the polynomial to the matrices themselves, which rounding hardly harms."""
    for _ in range(ROUNDS):
        A = X @ X.mT
        B = torch.baddbmm(A, A, A, beta=SECOND, alpha=THIRD)
        X = torch.baddbmm(X, B, X, beta=FIRST)
    return X


def by_gram_matrix(X: Tensor) -> Tensor:
    """Apply it to the small Gram matrices: a third of the operations, in single precision."""
    A = X @ X.mT
    identity = torch.eye(len(A[0]), dtype=X.dtype, device=X.device)
    factor = identity.expand_as(A)
    for _ in range(ROUNDS):
        B = torch.baddbmm(A, A, A, beta=SECOND, alpha=THIRD) + FIRST * identity
        factor = B @ factor
        A = B @ A @ B
    return factor @ X


def _gradients(weights: list[Tensor]) -> list[Tensor]:
    return [weight.grad for weight in weights if weight.grad is not None]


def _stacked(weights: list[Tensor]) -> Tensor:
    """Return matrices of as many columns as the longest has; zeros change no singular value."""
    columns = max(weight[0].numel() for weight in weights)
    out = weights[0].new_zeros(len(weights), len(weights[0]), columns)
    for matrix, weight in zip(out, weights, strict=True):
        matrix[:, : weight[0].numel()].copy_(weight.permute(0, 2, 3, 1).flatten(1))
    return out
