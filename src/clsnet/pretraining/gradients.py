"""Gradients of an objective; on a GPU they are recorded once and played again."""

from __future__ import annotations

import torch
from torch import Tensor

from clsnet.pretraining.objective import Objective, reduced_precision

STEPS_BEFORE = 3  # in which libraries choose their kernels
LOSS_SCALE = 2.0**12  # keeps gradients in the range of float16; halved if one leaves it


class Gradients:
    """What a batch tells about the weights.

    A GPU is told the same few hundred kernels in every step, which takes longer than to run them
    on small views. After a few steps they are therefore recorded as a graph, which is played from
    then on; other shapes make another one.

    Parameters
    ----------
    objective
        Whose gradients are wanted.

    Attributes
    ----------
    infinite
        One if a gradient of the last batch has left its range, else zero.

    Examples
    --------
    >>> from clsnet.methods.common.residual import Residual
    >>> from clsnet.pretraining.simsiam import SimSiam
    >>> objective = SimSiam(Residual(18, small=True), (0.5, 0.5, 0.5), (0.2, 0.2, 0.2))
    >>> gradients = Gradients(objective)
    >>> figures = gradients(torch.rand(2, 3, 8, 8), torch.rand(2, 3, 8, 8))
    >>> figures.shape, objective.network.conv1.weight.grad.shape, gradients.infinite.item()
    (torch.Size([2]), torch.Size([64, 3, 3, 3]), 0.0)
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.infinite = torch.zeros(())
        device = objective.mean.device
        self._scale = torch.tensor(LOSS_SCALE if device.type == "cuda" else 1.0, device=device)
        self._shapes: list[torch.Size] = []
        self._steps = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._inputs: list[Tensor] = []
        self._figures = torch.empty(2)

    def __call__(self, *drawn: Tensor) -> Tensor:
        """Set the gradients of all weights; return the loss and the figure worth watching."""
        device = drawn[0].device
        if device.type != "cuda":
            return self._computed(drawn)
        shapes = [x.shape for x in drawn]
        if shapes != self._shapes:
            self._shapes, self._steps, self._graph = shapes, 0, None
        if self._steps < STEPS_BEFORE:
            self._steps += 1
            return self._computed(drawn)
        if self._graph is None:
            self._inputs = [x.clone() for x in drawn]
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._figures = self._computed(self._inputs)
        for kept, x in zip(self._inputs, drawn, strict=True):
            kept.copy_(x)
        self._graph.replay()
        return self._figures

    def _computed(self, drawn: tuple[Tensor, ...] | list[Tensor]) -> Tensor:
        self.objective.zero_grad(set_to_none=True)
        with reduced_precision(drawn[0].device):
            figures = self.objective(*drawn)
        (figures[0] * self._scale).backward()
        gradients = [p.grad for p in self.objective.parameters() if p.grad is not None]
        torch._foreach_div_(gradients, self._scale)
        finite = torch.stack(torch._foreach_norm(gradients)).isfinite().all()
        self.infinite = 1 - finite.float()
        self._scale *= 1 - self.infinite / 2
        return torch.stack(figures).detach()
