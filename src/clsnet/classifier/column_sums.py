"""Sums of which every process keeps the columns of its own classes only."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from clsnet.arrays.devices import Array, device_of, to_device
from clsnet.arrays.gram import mirror, upper_blocks
from clsnet.arrays.linalg import take
from clsnet.arrays.ranks import add_up, add_up_for, n_ranks, rank
from clsnet.classifier.class_sums import ClassSums
from clsnet.classifier.curvatures.full import FullTrace
from clsnet.classifier.learned_task import LearnedTask
from clsnet.classifier.rule import TOTAL
from clsnet.classifier.summed_task import SummedTask
from clsnet.classifier.sums import Label, RunningSums
from clsnet.errors import ClsnetError

SharedBatch = tuple[Array, np.ndarray, np.ndarray, np.ndarray]
"""Own rows of a batch, and of all its rows: which are own, the labels, and the weights."""


def column_sums(batches: Iterable[SharedBatch], empty: RunningSums) -> SummedTask:
    """Return the sums of a task over all processes, with the classes of this process alone.

    Every process goes over the same batches and represents its share of each. Classes are dealt
    out in the order in which they appear. After each batch its class sums go to the processes that
    own these classes (a reduce-scatter), so that none ever holds those of all. The Gram matrix is
    added up at the end.

    Parameters
    ----------
    batches
        The batches.
    empty
        Sums of nothing, in the form that is wanted.
    """
    dimension, device = empty.dimension, empty.device
    everything = RunningSums(dimension, device, empty.precision)
    own = ClassSums(dimension, device)
    numbers: dict[Label, int] = {}
    counts: dict[Label, int] = {}
    weights: dict[Label, float] = {}
    n_weighted = 0.0
    for A, mine, y, w in batches:
        labels, codes = np.unique(y, return_inverse=True)
        sizes = (labels, np.bincount(codes), np.bincount(codes, w))
        totals = zip(*map(np.ndarray.tolist, sizes), strict=True)
        owners = np.array(
            [numbers.setdefault(label, len(numbers)) % n_ranks() for label in labels.tolist()]
        )
        for (label, n, weight), owner in zip(totals, owners.tolist(), strict=True):
            if owner == rank():
                counts[label] = counts.get(label, 0) + n
                weights[label] = weights.get(label, 0.0) + weight
        n_weighted += float(w.sum())
        everything.add(A, np.zeros(len(A), int), w[mine])
        for owner in range(n_ranks()):
            if not (owners == owner).any():
                continue
            theirs = labels[owners == owner].tolist()
            code = np.where(owners == owner, np.cumsum(owners == owner) - 1, -1)[codes[mine]]
            rows = np.flatnonzero(code >= 0)
            part = ClassSums(dimension, device)
            if len(rows):
                part.add(theirs, code[rows], _weighted(take(A, rows), w[mine][rows]))
            total = add_up_for(owner, part.rows(theirs))
            if owner == rank():
                own.add_sums(theirs, total)
    if len(numbers) < n_ranks():
        raise ClsnetError(f"{len(numbers)} classes cannot be dealt out to {n_ranks()} processes.")
    gram = everything.gram
    for block in upper_blocks(gram):
        block[...] = add_up(block)
    task = LearnedTask.of(counts, weights)
    cross = own.columns(task.classes)
    return SummedTask(task, {TOTAL: FullTrace(task.classes, mirror(gram), cross, n_weighted)})


def _weighted(A: Array, weights: np.ndarray) -> Array:
    return A if (weights == 1).all() else to_device(weights, device_of(A))[:, None] * A
