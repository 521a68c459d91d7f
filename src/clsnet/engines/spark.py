"""Spark: the sums of the partitions of a DataFrame, added by a tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clsnet.engines.parts import Read, Summing, some, total
from clsnet.estimator import CLSNet
from clsnet.extras import needed
from clsnet.sums import Sums


def summarise(model: CLSNet, frame: Any, read: Read) -> Sums:
    """Return the sums of all partitions of a DataFrame.

    Parameters
    ----------
    model
        The model whose extractor computes the features. It learns nothing here; see
        `CLSNet.learn_sums`.
    frame
        A ``pyspark.sql.DataFrame``. Each partition is summed by one task; Spark repeats the tasks
        of a lost executor.
    read
        A function that makes batches (X, y) of some rows of a partition, a pandas DataFrame.
    """
    needed("pyspark", "clsnet.engines.spark", "spark")
    context = frame.sparkSession.sparkContext
    summing = context.broadcast(Summing(model, read))

    def summed(chunks: Iterator[Any]) -> Iterator[Any]:
        pandas = needed("pandas", "clsnet.engines.spark", "spark")
        own = summing.value
        found = own.of_batches(batch for chunk in chunks for batch in own.read(chunk))
        if found is not None:
            yield pandas.DataFrame({"sums": [found.to_bytes()]})

    parts = frame.mapInPandas(summed, "sums binary").rdd
    return some(
        parts.treeAggregate(
            None,
            lambda one, row: total([one, Sums.from_bytes(bytes(row.sums))]),
            lambda one, other: total([one, other]),
        )
    )
