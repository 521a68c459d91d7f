"""One pass over a task: its sums, in total or per class, in this process or over all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from clsnet.arrays.devices import namespace
from clsnet.arrays.gram import mirror, upper_blocks
from clsnet.arrays.linalg import take
from clsnet.arrays.ranks import add_up, gathered, n_ranks
from clsnet.classifier.curvatures import trace_of
from clsnet.classifier.learned_task import LearnedTask
from clsnet.classifier.rule import TOTAL
from clsnet.classifier.summed_task import SummedTask
from clsnet.classifier.sums import TOO_LARGE, Batch, Label, RunningSums
from clsnet.errors import ClsnetError


def summed(
    batches: Iterable[Batch], per_class: bool, no_sums: Callable[[], RunningSums]
) -> dict[Label, RunningSums]:
    """Return the sums of batches, in total or per class.

    Parameters
    ----------
    batches
        Representations, labels, and weights if there are any.
    per_class
        Whether each class has sums of its own.
    no_sums
        Makes sums of nothing, in the form that is wanted.

    Examples
    --------
    >>> batch = (np.eye(3), np.array(["cat", "dog", "cat"]))
    >>> found = summed([batch], per_class=True, no_sums=lambda: RunningSums(3))
    >>> {label: part.counts for label, part in found.items()}
    {'cat': {'cat': 2}, 'dog': {'dog': 1}}
    """
    parts: dict[Label, RunningSums] = {}
    for batch in batches:
        groups: list[tuple[Label, Batch]] = [(TOTAL, batch)]
        if per_class:
            A, y, *weights = batch
            own = [(label.item(), np.flatnonzero(y == label)) for label in np.unique(y)]
            groups = [
                (label, (take(A, rows), y[rows], *(w[rows] for w in weights)))
                for label, rows in own
            ]
        for key, some in groups:
            if key not in parts:
                parts[key] = no_sums()
            parts[key].add(*some)
    return parts


def all_reduced(parts: dict[Label, RunningSums], empty: RunningSums) -> dict[Label, RunningSums]:
    """Return the sums of all processes together, key by key.

    Parameters
    ----------
    parts
        Those of this process.
    empty
        Sums of nothing, of the same form.
    """
    if n_ranks() == 1:
        return parts
    told: Any = gathered([[key, part.labels] for key, part in parts.items()])
    everyone: list[dict[Label, list[Label]]] = [dict(map(tuple, one)) for one in told]
    total: dict[Label, RunningSums] = {}
    for key in dict.fromkeys(key for one in everyone for key in one):
        labels = sorted({label for one in everyone for label in one.get(key, ())})  # type: ignore[type-var]
        part = parts.get(key, empty)
        counts = add_up(np.array([part.counts.get(label, 0) for label in labels]))
        weights = add_up(np.array([float(part.weights.get(label, 0)) for label in labels]))
        gram = namespace(part.gram).asarray(part.gram, copy=True)
        for block in upper_blocks(gram):
            block[...] = add_up(block)
        found = RunningSums(empty.dimension, empty.device, empty.precision)
        found.set(
            gram=mirror(gram),
            cross=add_up(part.cross(labels)),
            counts=dict(zip(labels, counts.tolist(), strict=True)),
            weights=dict(zip(labels, weights.tolist(), strict=True)),
        )
        total[key] = found
    return total


def summed_task(parts: Mapping[Label, RunningSums]) -> SummedTask:
    """Return what was summed of a task, each class of which is in one of the parts."""
    if not parts:
        raise ClsnetError("this task is empty: there is no batch to learn from.")
    if not all(part.finite for part in parts.values()):
        raise ClsnetError(TOO_LARGE)
    counts = {label: n for part in parts.values() for label, n in part.counts.items()}
    weights = {label: w for part in parts.values() for label, w in part.weights.items()}
    task = LearnedTask.of(counts, weights)
    return SummedTask(task, {key: trace_of(part) for key, part in parts.items()})
