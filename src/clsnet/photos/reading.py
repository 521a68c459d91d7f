"""Photos to features, each decoded once."""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np

from clsnet.arrays.devices import CPU
from clsnet.extractor import Extractor
from clsnet.images import Images, Report
from clsnet.images.decode import Unreadable

BATCH = 32


def features(
    extractor: Extractor,
    paths: Sequence[Path],
    size: int,
    report: Report | None = None,
) -> tuple[np.ndarray, list[int], dict[int, str]]:
    """Return the representations of photos.

    Parameters
    ----------
    extractor
        If it is not fitted yet, the first photos fit it.
    paths
        Files.
    size
        Side length of the square that a photo is scaled and cut to.
    report
        Called as `report(stage, done, total)`, in photos.

    Returns
    -------
    A, rows, unreadable
        One row for each readable photo, which one it is, and a line about each other one.
    """
    parts: list[np.ndarray] = []
    rows: list[int] = []
    unreadable: dict[int, str] = {}
    done = 0
    images = read(paths, size)
    while batch := list(itertools.islice(images, BATCH)):
        good = []
        for image in batch:
            if isinstance(image, str):
                unreadable[done] = image
            else:
                good.append(image)
                rows.append(done)
            done += 1
        if good:
            X = np.stack(good)
            if not extractor.dimension:
                extractor.fit(X, CPU)
            parts.append(extractor.transform(X))
        if report:
            report("reading photos", done, len(paths))
    return np.concatenate(parts) if parts else np.empty((0, 0)), rows, unreadable


def read(paths: Sequence[Path], size: int) -> Iterator[np.ndarray | str]:
    """Yield each photo as bytes (3, size, size), or the line why there is none."""
    images = Images(paths, size)
    threads = os.cpu_count() or 1

    def decoded(row: int) -> np.ndarray | str:
        try:
            return images[row]
        except Unreadable as error:
            return str(error)

    if len(paths) == 1:
        yield decoded(0)
        return
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[np.ndarray | str]] = deque()
    try:
        for row in range(len(paths)):
            waiting.append(pool.submit(decoded, row))
            if len(waiting) > 2 * BATCH:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
