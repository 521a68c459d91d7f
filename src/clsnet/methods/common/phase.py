"""One run of gradient descent, as a method asks the trainer for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


def nothing() -> None:
    """Do nothing before, or after, a step."""


def constant(epoch: int) -> float:
    """Return the same rate for every epoch."""
    return 1.0


@dataclass
class Phase:
    """One run of gradient descent.

    Parameters
    ----------
    optimiser
        Holds the parameters that change, in groups with rates of their own.
    loss
        Of a batch and its targets.
    epochs
        Passes over the samples.
    schedule
        Factor of all rates in an epoch. A group of parameters may have a schedule of its own,
        under the key ``"schedule"``.
    before_step, after_step
        Called around every step of the optimiser.
    varied
        Whether images are mirrored and shifted; no if samples are features.
    """

    optimiser: torch.optim.Optimizer
    loss: Callable[[Tensor, Tensor], Tensor]
    epochs: int
    schedule: Callable[[int], float] = constant
    before_step: Callable[[], None] = nothing
    after_step: Callable[[], None] = nothing
    varied: bool = True
