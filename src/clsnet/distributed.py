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

import torch
import torch.distributed as dist
from torch import Tensor

from clsnet.classifier.statistics import Label, Statistics
from clsnet.errors import ClsnetError

PATIENCE = timedelta(minutes=10)


def n_ranks() -> int:
    """Return the number of processes that learn together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Return the number of this process among them; the one with 0 writes files and prints."""
    return dist.get_rank() if n_ranks() > 1 else 0


@contextmanager
def joined() -> Iterator[None]:
    """Join the processes that ``torchrun`` started; a process that stands alone joins nobody."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield
        return
    gpu = torch.cuda.is_available()
    if gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("cpu:gloo,cuda:nccl" if gpu else "gloo", timeout=PATIENCE)
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
    everyone: list[dict[Label, list[Label]]] = [{} for _ in range(n_ranks())]
    with _told():
        dist.all_gather_object(everyone, mine)
    total: dict[Label, Statistics] = {}
    for key in dict.fromkeys(key for one in everyone for key in one):
        labels = sorted({label for one in everyone for label in one.get(key, ())})  # type: ignore[type-var]
        part = parts.get(key, empty)
        counts = torch.tensor([part.counts.get(label, 0) for label in labels])
        found = Statistics(empty.dimension, empty.device, empty.precision)
        found.set(
            gram=add_up(part.gram.clone()),
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
