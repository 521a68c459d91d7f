"""Several processes that learn one model, on PyTorch's distributed package.

Under ``torchrun`` each process computes the features of its share of the samples; their sums are
added (all-reduce), and every process solves for the same weights. Without ``torchrun`` there is one
process, this module does nothing, and torch is not imported.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np

from clsnet.arrays.devices import Array, is_torch
from clsnet.errors import ClsnetError
from clsnet.extras import needed

PEER_TIMEOUT = timedelta(hours=1)  # for a slow process; one that has died is noticed at once
T = TypeVar("T")
_alone = False


def _engine() -> Any | None:
    """Return torch.distributed if processes have joined; somebody has imported it then."""
    engine = sys.modules.get("torch.distributed")
    return engine if engine and engine.is_available() and engine.is_initialized() else None


def n_ranks() -> int:
    """Return the number of processes that learn together."""
    engine = _engine()
    return 1 if _alone or engine is None else int(engine.get_world_size())


def rank() -> int:
    """Return the number of this process among them; number 0 writes files and prints."""
    engine = _engine()
    return 0 if engine is None else int(engine.get_rank())


@contextmanager
def alone() -> Iterator[None]:
    """Within this context each process learns on its own, from all samples it is given."""
    global _alone
    before, _alone = _alone, True
    try:
        yield
    finally:
        _alone = before


def told(variable: str, otherwise: int = 1) -> int:
    """Return a number that the launcher has put into the environment.

    Examples
    --------
    >>> told("THERE_IS_NONE")
    1
    """
    value = os.environ.get(variable, str(otherwise))
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise ClsnetError(
            f"{variable}={value[:40]!r} in the environment is not a number; unset it."
        )
    return int(value)


@contextmanager
def joined() -> Iterator[None]:
    """Join the processes that ``torchrun`` started; without it, do nothing."""
    if told("WORLD_SIZE") == 1:
        yield
        return
    torch = needed("torch", "a run of several processes", "torch")
    engine = needed("torch.distributed", "a run of several processes", "torch")
    gpus = torch.cuda.device_count()
    if gpus:
        torch.cuda.set_device(told("LOCAL_RANK", 0) % gpus)
    own = gpus >= told("LOCAL_WORLD_SIZE")  # nccl wants one for each process
    kind = "cpu:gloo,cuda:nccl" if gpus and own else "gloo"
    try:
        store, number, size = next(engine.rendezvous("env://", timeout=PEER_TIMEOUT))
        # After a restart the store still holds the addresses of processes that are gone.
        store = engine.PrefixStore(f"restart {told('TORCHELASTIC_RESTART_COUNT', 0)}", store)
        engine.init_process_group(
            kind, store=store, rank=number, world_size=size, timeout=PEER_TIMEOUT
        )
    except (ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise ClsnetError(
            f"the processes of this run cannot be joined ({reason}); start them by torchrun, or "
            "unset WORLD_SIZE."
        ) from None
    try:
        yield
    finally:
        engine.destroy_process_group()


def share() -> slice:
    """Return the rows of a batch that belong to this process.

    Examples
    --------
    >>> list(range(5))[share()]
    [0, 1, 2, 3, 4]
    """
    return slice(rank(), None, n_ranks())


def add_up(array: Array) -> Array:
    """Return the sum of an array over all processes.

    Examples
    --------
    >>> add_up(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    engine = _engine()
    if engine is None or n_ranks() == 1:
        return array
    torch = needed("torch", "a run of several processes", "torch")
    if is_torch(array):
        total = shared = array.contiguous().clone()
    else:
        total = np.array(array, order="C")
        shared = torch.from_numpy(total)
    with _peers_checked():
        engine.all_reduce(shared)
    return total


def add_up_for(owner: int, array: Array) -> Array:
    """Return the sum of an array over all processes to one of them; others get nothing valid.

    Examples
    --------
    >>> add_up_for(0, np.array([1.0, 2.0]))
    array([1., 2.])
    """
    engine = _engine()
    if engine is None or n_ranks() == 1:
        return array
    torch = needed("torch", "a run of several processes", "torch")
    shared = array if is_torch(array) else torch.from_numpy(np.ascontiguousarray(array))
    with _peers_checked():
        engine.reduce(shared, dst=owner)
    return shared if is_torch(array) else shared.numpy()


def gathered(mine: T) -> list[T]:
    """Return the JSON-compatible values of all processes, ordered by their numbers.

    Examples
    --------
    >>> gathered("mine")
    ['mine']
    """
    if n_ranks() == 1:
        return [mine]
    return [json.loads(part.tobytes()) for part in _gathered_bytes(json.dumps(mine).encode())]


def gathered_arrays(mine: np.ndarray) -> list[np.ndarray]:
    """Return the arrays of all processes, ordered by their numbers.

    Examples
    --------
    >>> gathered_arrays(np.array([1.0, 2.0]))
    [array([1., 2.])]
    """
    if n_ranks() == 1:
        return [mine]
    forms: list[Any] = gathered([mine.dtype.str, *mine.shape])
    parts = _gathered_bytes(np.ascontiguousarray(mine).tobytes())
    return [
        part.view(np.dtype(kind)).reshape(shape)
        for part, (kind, *shape) in zip(parts, forms, strict=True)
    ]


def _gathered_bytes(mine: bytes) -> list[np.ndarray]:
    """Return the bytes of every process; torch would send objects as pickles, which run code."""
    torch = needed("torch", "a run of several processes", "torch")
    engine = needed("torch.distributed", "a run of several processes", "torch")
    lengths = np.zeros(n_ranks(), np.int64)
    lengths[rank()] = len(mine)
    lengths = add_up(lengths)
    padded = np.zeros(max(1, lengths.max()), np.uint8)
    padded[: len(mine)] = np.frombuffer(mine, np.uint8)
    everyone = [torch.zeros(len(padded), dtype=torch.uint8) for _ in lengths]
    with _peers_checked():
        engine.all_gather(everyone, torch.from_numpy(padded))
    return [part.numpy()[:n] for part, n in zip(everyone, lengths.tolist(), strict=True)]


@contextmanager
def _peers_checked() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise ClsnetError(
            f"another process of this run has ended ({reason}); nothing was written."
        ) from None
