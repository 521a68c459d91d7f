"""Photos that several processes read for each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from clsnet.arrays.ranks import gathered, n_ranks, rank
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
    everyone = gathered((A, [places[row] for row in rows], lines))
    vectors = {
        row: vector for part, own, _ in everyone for row, vector in zip(own, part, strict=True)
    }
    lines = {row: line for _, _, own in everyone for row, line in own.items()}
    rows = sorted(vectors)
    A = np.stack([vectors[row] for row in rows]) if rows else A
    return A, rows, dict(sorted(lines.items()))
