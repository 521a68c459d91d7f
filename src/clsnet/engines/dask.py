"""Dask: partitions of a bag, a data frame or an array, and a tree that adds their sums."""

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

    It runs on the cluster of the present ``dask.distributed.Client``, or on this machine where
    there is none. What a lost worker had is computed again by another one.

    Parameters
    ----------
    model
        Whose extractor represents the samples. It learns nothing here; see `CLSNet.learn_sums`.
    collection
        A ``dask.bag.Bag`` or a ``dask.dataframe.DataFrame``.
    read
        Makes batches (X, y) of a partition: of the list of items of a bag, or of a pandas
        DataFrame. If there is none, items are batches.
    """
    dask = needed("dask", "clsnet.engines.dask", "engines")
    summed = dask.delayed(Summing(model, read), pure=True)
    level = [summed(part) for part in collection.to_delayed()]
    while len(level) > 1:
        starts = range(0, len(level), TOGETHER)
        level = [dask.delayed(total)(level[start : start + TOGETHER]) for start in starts]
    return some(level[0].compute() if level else None)
