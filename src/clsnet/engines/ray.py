"""Ray: the sums of the blocks of a Ray Data dataset; a lost block is repeated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clsnet.engines.parts import Read, Summing, some, total
from clsnet.errors import ClsnetError
from clsnet.estimator import CLSNet
from clsnet.extras import needed
from clsnet.sums import Sums

RETRIES = 10  # of a block whose worker died


def summarise(model: CLSNet, dataset: Any, read: Read) -> Sums:
    """Return the sums of all blocks of a dataset.

    Parameters
    ----------
    model
        The model whose extractor computes the features. It learns nothing here; see
        `CLSNet.learn_sums`.
    dataset
        A ``ray.data.Dataset``. Each block is summed by one task: ``dataset.repartition(n)`` sets
        their number.
    read
        A function that makes batches (X, y) of a block: a dict of NumPy arrays, one per column.
    """
    ray = needed("ray", "clsnet.engines.ray", "engines")
    summing = ray.put(Summing(model, read))

    def summed(block: Any) -> dict[str, list[Any]]:
        try:
            found = ray.get(summing)(block)
        except ClsnetError as error:
            return {"sums": [b""], "refused": [str(error)]}
        return {"sums": [b"" if found is None else found.to_bytes()], "refused": [""]}

    parts = dataset.map_batches(summed, batch_size=None, batch_format="numpy", max_retries=RETRIES)
    return some(total(_received(parts)))


def _received(parts: Any) -> Iterator[Sums | None]:
    for row in parts.iter_rows():
        if row["refused"]:
            raise ClsnetError(row["refused"])
        yield Sums.from_bytes(row["sums"]) if row["sums"] else None
