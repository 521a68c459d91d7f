"""Dask: the sums of the partitions of a bag or a data frame, added by a tree."""

from __future__ import annotations

from typing import Any

from clsnet.engines.parts import Read, Summing, some, total
from clsnet.estimator import CLSNet
from clsnet.extras import needed
from clsnet.sums import Sums

TOGETHER = 8  # sums that are added by one task


def as_batches(partition: Any) -> Any:
    """Take the items of a partition as batches."""
    return partition


def summarise(model: CLSNet, collection: Any, read: Read = as_batches) -> Sums:
    """Return the sums of all partitions of a collection.

    It runs on the cluster of the current ``dask.distributed.Client`` or, without one, on this
    machine. Work of a lost worker is repeated by another one.

    Parameters
    ----------
    model
        The model whose extractor computes the features. It learns nothing here; see
        `CLSNet.learn_sums`.
    collection
        A ``dask.bag.Bag`` or a ``dask.dataframe.DataFrame``.
    read
        A function that makes batches (X, y) of a partition, which is a list of items of a bag or a
        pandas DataFrame. Without it, each item is a batch.
    """
    dask = needed("dask", "clsnet.engines.dask", "engines")
    summed = dask.delayed(Summing(model, read), pure=True)
    level = [summed(part) for part in collection.to_delayed()]
    while len(level) > 1:
        starts = range(0, len(level), TOGETHER)
        level = [dask.delayed(total)(level[start : start + TOGETHER]) for start in starts]
    return some(level[0].compute() if level else None)
