"""Photos that several processes read for each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from clsnet.arrays.ranks import gathered, gathered_arrays, n_ranks, rank
from clsnet.extractor import Extractor
from clsnet.images import Report
from clsnet.photos.reading import BATCH, features


def shared_features(
    extractor: Extractor, paths: Sequence[Path], size: int, report: Report | None = None
) -> tuple[np.ndarray, list[int], dict[int, str]]:
    """Return what `features` does; under ``torchrun`` each process reads its share of the photos.

    Batches stay as they are in one process, and so does every number.
    """
    if n_ranks() == 1:
        return features(extractor, paths, size, report)
    starts = range(0, len(paths), BATCH)
    for start in starts:  # the same photos fit the extractor everywhere
        if extractor.dimension:
            break
        features(extractor, paths[start : start + BATCH], size)
    order = range(len(paths))
    places = [i for start in starts[rank() :: n_ranks()] for i in order[start : start + BATCH]]
    A, rows, unreadable = features(extractor, [paths[i] for i in places], size, report)
    lines = {places[row]: line for row, line in unreadable.items()}
    places = [row for own in gathered([places[row] for row in rows]) for row in own]
    parts = [part for part in gathered_arrays(A) if len(part)]
    vectors = dict(zip(places, np.concatenate(parts), strict=True)) if parts else {}
    lines = {row: line for own in gathered(list(lines.items())) for row, line in own}
    rows = sorted(vectors)
    A = np.stack([vectors[row] for row in rows]) if rows else A
    return A, rows, dict(sorted(lines.items()))
