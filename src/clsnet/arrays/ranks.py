"""Processes that learn as one, on PyTorch's own distributed engine.

Under ``torchrun`` every process represents its share of the samples; the sums of all are added,
and every process solves for the same weights. Without it, there is one process and nothing
happens here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from clsnet.classifier.sums import Label, Statistics, mirror, upper
from clsnet.errors import ClsnetError

PATIENCE = timedelta(hours=1)  # with one that is slow; one that has died is noticed at once
T = TypeVar("T")
_alone = False


def n_ranks() -> int:
    """Return the number of processes that learn together."""
    if _alone or not (dist.is_available() and dist.is_initialized()):
        return 1
    return dist.get_world_size()


def rank() -> int:
    """Return the number of this process among them; the one with 0 writes files and prints."""
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


@contextmanager
def alone() -> Iterator[None]:
    """Within this context every process learns by itself, from all that it is given."""
    global _alone
    before, _alone = _alone, True
    try:
        yield
    finally:
        _alone = before


@contextmanager
def joined() -> Iterator[None]:
    """Join the processes that ``torchrun`` started; a process that stands alone joins nobody."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield
        return
    gpus = torch.cuda.device_count()
    if gpus:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % gpus)
    own = gpus >= int(os.environ.get("LOCAL_WORLD_SIZE", "1"))  # nccl wants one for each process
    dist.init_process_group("cpu:gloo,cuda:nccl" if gpus and own else "gloo", timeout=PATIENCE)
    try:
        yield
    finally:
        dist.destroy_process_group()


def share() -> slice:
    """Return which rows of a batch are this process's.

    Examples
    --------
    >>> list(range(5))[share()]
    [0, 1, 2, 3, 4]
    """
    return slice(rank(), None, n_ranks())


def add_up(tensor: Tensor) -> Tensor:
    """Return the sum of a tensor over all processes."""
    if n_ranks() == 1:
        return tensor
    total = tensor.contiguous()
    with _told():
        dist.all_reduce(total)
    return total


def gathered(mine: T) -> list[T]:
    """Return what every process has, in the order of their numbers.

    Examples
    --------
    >>> gathered("mine")
    ['mine']
    """
    everyone = [mine] * n_ranks()
    if len(everyone) > 1:
        with _told():
            dist.all_gather_object(everyone, mine)
    return everyone


def summed(parts: dict[Label, Statistics], empty: Statistics) -> dict[Label, Statistics]:
    """Return the statistics of all processes together, key by key.

    Parameters
    ----------
    parts
        Those of this process.
    empty
        Statistics of nothing, of the same form.
    """
    if n_ranks() == 1:
        return parts
    mine = {key: sorted(part.counts) for key, part in parts.items()}  # type: ignore[type-var]
    everyone = gathered(mine)
    total: dict[Label, Statistics] = {}
    for key in dict.fromkeys(key for one in everyone for key in one):
        labels = sorted({label for one in everyone for label in one.get(key, ())})  # type: ignore[type-var]
        part = parts.get(key, empty)
        counts = torch.tensor([part.counts.get(label, 0) for label in labels])
        found = Statistics(empty.dimension, empty.device, empty.precision)
        gram = part.gram.clone()
        for block in upper(gram):
            block.copy_(add_up(block))
        found.set(
            gram=mirror(gram),
            cross=add_up(part.cross(labels)),
            counts=dict(zip(labels, add_up(counts).tolist(), strict=True)),
        )
        total[key] = found
    return total


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise ClsnetError(
            f"another process of this run has ended ({reason}); nothing was written."
        ) from None
