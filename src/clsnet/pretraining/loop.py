"""Epochs of stochastic gradient descent."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Generator, Tensor

from clsnet.errors import ClsnetError
from clsnet.pretraining.checkpoint import Checkpoint
from clsnet.pretraining.feeding import Feed
from clsnet.pretraining.gradients import Gradients
from clsnet.pretraining.muon import Group, Muon
from clsnet.pretraining.objective import Objective

MOMENTUM, DECAY, WARM_UP = 0.9, 5e-4, 0.1
STEPS_AN_EPOCH = 64
GROWTH = (0.5, 0.5, 0.625, 0.625, 0.75, 0.75, 0.875, 1.0)
SECONDS_BETWEEN_CHECKPOINTS = 20
SECONDS_BETWEEN_FIGURES = 5


@dataclass(frozen=True)
class Status:
    """How training stands, after a batch.

    Parameters
    ----------
    epoch, epochs
        The one that runs, or has just ended, and how many there are.
    done
        Share of all work.
    measured
        Whether the accuracy has just been measured.
    loss, watched, speed
        Mean loss and watched figure of the last whole epoch, and its images per second; in the
        first epoch, the means so far.
    accuracy
        On held-out images, as last measured.
    """

    epoch: int
    epochs: int
    done: float = 0.0
    measured: bool = False
    loss: float | None = None
    watched: float | None = None
    speed: float | None = None
    accuracy: float | None = None


def train(
    objective: Objective,
    data: Feed,
    test: Feed,
    epochs: int,
    seed: int,
    checkpoint: Checkpoint | None = None,
    show: Callable[[Status], None] = lambda status: None,
) -> float | None:
    """Train an objective, going on from its checkpoint if there is one; return its accuracy.

    What an epoch draws depends on its number and the seed alone. Nothing waits for the device
    before its end, but every few seconds of the first one, which has no figures to show yet.
    """
    device = data.device
    size = batch_size(len(data), data.size)
    steps = len(data) // size
    optimiser = _optimiser(objective, size)
    gradients = Gradients(objective)
    first = checkpoint.restore(objective, optimiser) if checkpoint else 0
    sides = [side(epoch / epochs, data.size) for epoch in range(epochs)]
    work = [pixels**2 for pixels in sides]
    status = Status(first, epochs)
    kept_at, told_at = -math.inf, time.monotonic()
    objective.train()
    for epoch in range(first, epochs):
        start = time.monotonic()
        random = Generator(device).manual_seed(_seed(seed, epoch))
        order = torch.randperm(len(data), generator=random, device=device)[: steps * size]
        totals = torch.zeros(2, device=device)
        for step, (images, labels) in enumerate(data.batches(order, size)):
            drawn = objective.draw(images, labels, sides[epoch], random)
            totals += gradients(*drawn)
            optimiser.step(rate((epoch + (step + 0.5) / steps) / epochs), gradients.infinite)
            done = (sum(work[:epoch]) + work[epoch] * (step + 1) / steps) / sum(work)
            status = replace(status, epoch=epoch + 1, done=done, measured=False)
            if epoch == first and time.monotonic() - told_at > SECONDS_BETWEEN_FIGURES:
                loss, watched = (totals / (step + 1)).tolist()
                status = replace(status, loss=loss, watched=watched)
                told_at = time.monotonic()
            show(status)
        loss, watched = (totals / steps).tolist()
        if not math.isfinite(loss):
            raise ClsnetError(f"the loss of epoch {epoch + 1} is {loss}: try another seed.")
        seconds = time.monotonic() - start
        status = replace(status, loss=loss, watched=watched, speed=steps * size / seconds)
        last = epoch + 1 == epochs
        if len(test) and (last or (epoch + 1) % math.ceil(epochs / 10) == 0):
            status = replace(status, accuracy=objective.accuracy(data, test), measured=True)
        show(status)
        if checkpoint and not last and time.monotonic() - kept_at > SECONDS_BETWEEN_CHECKPOINTS:
            checkpoint.write(objective, optimiser, epoch + 1)
            kept_at = time.monotonic()
    return status.accuracy


def batch_size(n: int, size: int) -> int:
    """Choose a batch size: a power of two that gives 64 steps an epoch, if that is 32 to 512.

    Examples
    --------
    >>> batch_size(50_000, size=64), batch_size(1_000_000, size=224), batch_size(500, size=64)
    (512, 256, 32)
    >>> batch_size(10, size=64)
    10
    """
    wanted = 1 << (max(1, n // STEPS_AN_EPOCH).bit_length() - 1)
    return min(max(32, min(wanted, 512 if size <= 64 else 256)), n)


def rate(progress: float) -> float:
    """Return the learning rate as a share of the highest: a linear rise, then half a cosine.

    Examples
    --------
    >>> [round(rate(progress), 2) for progress in (0.0, 0.05, 0.1, 0.55, 1.0)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if progress < WARM_UP:
        return progress / WARM_UP
    return (1 + math.cos(math.pi * (progress - WARM_UP) / (1 - WARM_UP))) / 2


def side(progress: float, size: int) -> int:
    """Return the side length of views, which grows in stages: most is learned from small ones.

    Examples
    --------
    >>> [side(progress, 64) for progress in (0.0, 0.3, 0.6, 0.8, 0.9)]
    [32, 40, 48, 56, 64]
    """
    grown = GROWTH[int(progress * len(GROWTH))]
    return min(size, 8 * math.ceil(size * grown / 8))


def _optimiser(objective: Objective, size: int) -> Muon:
    """Momentum for all; decay for neither norms nor biases; orthogonal steps if they are wanted."""
    trained: list[Tensor] = [p for p in objective.parameters() if p.requires_grad]
    behind_colours = [p for p in trained if p.ndim == 4][1:]
    orthogonal = behind_colours if objective.turn else []
    plain = [p for p in trained if not any(p is other for other in orthogonal)]
    highest = objective.rate * size / 256
    groups = [
        Group([p for p in plain if p.ndim > 1], highest, DECAY),
        Group([p for p in plain if p.ndim <= 1], highest),
    ]
    return Muon(groups, Group(orthogonal, objective.turn), MOMENTUM)


def _seed(seed: int, epoch: int) -> int:
    return int(np.random.SeedSequence((seed, epoch)).generate_state(1)[0])
