"""Reading photos in several processes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from clsnet.arrays.ranks import gathered, gathered_arrays, n_ranks, rank
from clsnet.arrays.restarts import place
from clsnet.extractor import Extractor
from clsnet.images import Report
from clsnet.photos.reading import BATCH, features
from clsnet.storage.files import write_atomically
from clsnet.storage.schema import Misfit
from clsnet.storage.tensors import as_bytes, read_tensors

SHARD = 16 * BATCH  # photos that a process reads before it saves, where it may be started again


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
    A, rows, unreadable = _surviving(extractor, [paths[i] for i in places], size, report)
    lines = {places[row]: line for row, line in unreadable.items()}
    places = [row for own in gathered([places[row] for row in rows]) for row in own]
    parts = [part for part in gathered_arrays(A) if len(part)]
    vectors = dict(zip(places, np.concatenate(parts), strict=True)) if parts else {}
    lines = {row: line for own in gathered(list(lines.items())) for row, line in own}
    rows = sorted(vectors)
    A = np.stack([vectors[row] for row in rows]) if rows else A
    return A, rows, dict(sorted(lines.items()))


def _surviving(
    extractor: Extractor, paths: Sequence[Path], size: int, report: Report | None
) -> tuple[np.ndarray, list[int], dict[int, str]]:
    """Return what `features` does; a process that was started again has read most of it before."""
    saved = place()
    if saved is None:
        return features(extractor, paths, size, report)
    parts: list[np.ndarray] = []
    rows: list[int] = []
    unreadable: dict[int, str] = {}
    for start in range(0, len(paths), SHARD):
        some = paths[start : start + SHARD]
        file = saved.with_name(f"{saved.name}-{start}.features")
        about = json.dumps([size, *map(str, some)])
        found = _read(file, about) if file.exists() else None
        if found is None:

            def tell(stage: str, done: int, total: int, start: int = start) -> None:
                if report:
                    report(stage, start + done, len(paths))

            found = features(extractor, some, size, tell)
            A, own, lines = found
            told = {"about": about, "lines": json.dumps(list(lines.items()))}
            write_atomically(file, as_bytes({"A": A, "rows": np.array(own, np.int64)}, told))
        parts.append(found[0])
        rows += [start + row for row in found[1]]
        unreadable |= {start + row: line for row, line in found[2].items()}
    whole = [part for part in parts if len(part)]
    return np.concatenate(whole) if whole else np.empty((0, 0)), rows, unreadable


def _read(file: Path, about: str) -> tuple[np.ndarray, list[int], dict[int, str]] | None:
    """Return what was saved of these photos, or None if the file is of others."""
    try:
        metadata, arrays = read_tensors(file)
        if metadata.get("about") != about:
            return None
        return arrays["A"], arrays["rows"].tolist(), dict(json.loads(metadata["lines"]))
    except (Misfit, KeyError, ValueError):
        return None
