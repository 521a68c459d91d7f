"""Processes started by ``torchrun``: sums that survive a restart, and many classes shared out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clsnet.arrays.ranks import gathered_arrays, n_ranks, rank
from clsnet.engines.parts import Batch, Read, Summing, some, total
from clsnet.errors import ClsnetError
from clsnet.estimator import CLSNet
from clsnet.estimator.labels import label_array
from clsnet.resumed_sums import SavedSums, gathered_sums
from clsnet.storage.files import at_home
from clsnet.sums import Sums


def summarise(
    model: CLSNet, shards: Sequence[Any], read: Read, folder: str | os.PathLike[str] | None = None
) -> Sums:
    """Return the sums of all shards, the same in every process that has joined.

    Parameters
    ----------
    model
        The model whose extractor computes the features. It learns nothing here; see
        `CLSNet.learn_sums`.
    shards
        The same list in every process; each process sums up its share.
    read
        A function that makes batches (X, y) of a shard.
    folder
        A folder in which each process saves its sums after each shard. With ``--max-restarts``, a
        run that lost a process resumes from there. Remove the folder before you sum the same shards
        again.

    Examples
    --------
    >>> import numpy as np
    >>> from clsnet import CLSNet
    >>> from clsnet.engines import torchrun
    >>> X, y = np.random.default_rng(0).normal(size=(200, 5)), np.arange(200) % 3
    >>> rows = np.array_split(np.arange(200), 4)
    >>> torchrun.summarise(CLSNet(groups=1), rows, lambda some: [(X[some], y[some])])
    Sums(200 samples of 3 classes, 36 features)
    """
    summing = Summing(model, read)
    saved = None
    if folder is not None:
        at_home(folder).mkdir(parents=True, exist_ok=True)
        saved = SavedSums(at_home(folder) / f"{rank()}-of-{n_ranks()}")
    done, found = (0, None) if saved is None else saved.read()
    own = list(shards)[rank() :: n_ranks()]
    for number, shard in enumerate(own):
        if number < done:
            continue
        found = total([found, summing(shard)])
        if saved is not None:
            saved.write(number + 1, found)
    return some(total(gathered_sums(found)))


@dataclass(frozen=True)
class ColumnShard:
    """The share of one process: weights of its own classes, learned from the samples of all.

    Attributes
    ----------
    model
        A model that learned all samples and has weights for its own classes only.
    """

    model: CLSNet

    def predict(self, X: Any) -> np.ndarray:
        """Return the best class of each sample among the classes of all processes.

        All processes have to call it with the same samples.
        """
        places, scores = self.model.best(X)
        labels = self.model.classes_[places]
        every = np.stack(gathered_arrays(scores))
        names = [part.tolist() for part in gathered_arrays(labels)]
        owners = every.argmax(axis=0)
        return label_array([names[owner][row] for row, owner in enumerate(owners.tolist())])

    def save(self, path: str | os.PathLike[str], *, predicts_only: bool = True) -> Path:
        """Write the share of this process beside those of the others; return the file."""
        path = at_home(path)
        own = path.with_name(f"{path.stem}.{rank()}-of-{n_ranks()}{path.suffix}")
        self.model.save(own, predicts_only=predicts_only)
        return own


def learn_columns(model: CLSNet, batches: Iterable[Batch]) -> ColumnShard:
    """Learn a task with very many classes, which are shared out among the processes.

    With n processes, each holds an n-th of the class sums and weights. Every process holds the same
    Gram matrix, factorises it, and solves for its own columns.

    Parameters
    ----------
    model
        A model that has learned nothing, with ``retain="total"`` and a known ridge; it is not
        changed.
    batches
        Pairs (X, y), the same in every process; each process computes the features of its share.
    """
    if hasattr(model, "model_") and model.tasks_:
        raise ClsnetError(
            "a model that has learned classes already cannot share them out; use a new model."
        )
    sums = model.summarise_columns(batches)
    return ColumnShard(model.twin().learn_sums(sums))
