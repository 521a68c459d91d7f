"""Photos to features, each decoded once."""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from clsnet.images.decode import Unreadable
from clsnet.images.lazy import Images
from clsnet.data.registry import Report
from clsnet.estimator.clsnet import CLSNet

BATCH = 32


def features(
    model: CLSNet,
    paths: Sequence[Path],
    size: int,
    report: Report | None = None,
    hasty: bool = False,
) -> tuple[Tensor, list[int], dict[int, str]]:
    """Return the representations of photos.

    Parameters
    ----------
    model
        If it has no extractor yet, the first photos fix it.
    paths
        Files.
    size
        Side length of the square that a photo is scaled and cut to.
    report
        Called as `report(stage, done, total)`, in photos.
    hasty
        Let the first photos not wait until a network is converted. What they give then differs a
        little from what they give among more photos, so this is not for learning.

    Returns
    -------
    A, rows, unreadable
        One row for each readable photo, which one it is, and a line about each other one.
    """
    parts: list[Tensor] = []
    rows: list[int] = []
    unreadable: dict[int, str] = {}
    done = 0
    if hasattr(model, "extractor_") and not hasty:
        model.extractor_.backbone.settle()
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
            if not hasattr(model, "extractor_"):
                model.prepare(X)
            parts.append(model.extractor_.transform(X))
        if report:
            report("reading photos", done, len(paths))
    return torch.cat(parts) if parts else torch.empty(0, 0), rows, unreadable


def read(paths: Sequence[Path], size: int) -> Iterator[np.ndarray | str]:
    """Yield each photo as bytes (3, size, size), or the line why there is none."""
    images = Images(paths, size)
    threads = os.cpu_count() or 1

    def decoded(row: int) -> np.ndarray | str:
        try:
            return images[row]
        except Unreadable as error:
            return str(error)

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
