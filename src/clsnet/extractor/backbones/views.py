"""Several looks at one image, whose features are averaged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from clsnet.arrays.devices import Array, namespace
from clsnet.extractor.backbones.resizing import resized, resizing_matrix
from clsnet.extractor.graph import Graph

VIEWS = (1, 2, 8)
CROP = 13 / 16  # of the side length


def views(x: Array, number: int) -> Iterator[Array]:
    """Yield 1, 2 or 8 views of each image: itself, its mirror image, and crops.

    The crops are the centre, also mirrored, and the four corners, of which those to the right are
    mirrored; they are scaled to the size of the image.

    Examples
    --------
    >>> row = np.broadcast_to(np.arange(4, dtype=np.float32), (1, 1, 4, 4))
    >>> [view[0, 0, 0].tolist() for view in views(row, 2)]
    [[0.0, 1.0, 2.0, 3.0], [3.0, 2.0, 1.0, 0.0]]
    >>> [tuple(view.shape) for view in views(row, 8)] == [(1, 1, 4, 4)] * 8
    True
    """
    xp, size = namespace(x), x.shape[-1]
    yield x
    if number >= 2:
        yield xp.flip(x, axis=-1)
    if number == 8:
        side = _side(size)
        for top, left, mirrored in _crops(size):
            crop = resized(x[..., top : top + side, left : left + side], size, size)
            yield xp.flip(crop, axis=-1) if mirrored else crop


def in_turn(seen: Iterable[Array]) -> Array:
    """Return the views of the first image, then those of the second, and so on.

    Examples
    --------
    >>> row = np.broadcast_to(np.arange(4, dtype=np.float32), (2, 1, 4, 4))
    >>> in_turn(views(row, 2))[:, 0, 0, 0].tolist()
    [0.0, 3.0, 0.0, 3.0]
    """
    every = list(seen)
    if len(every) == 1:
        return every[0]
    x = namespace(*every).stack(every, axis=1)
    return namespace(x).reshape(x, (-1, *x.shape[2:]))


def write_views(graph: Graph, x: str, size: int, number: int) -> Iterator[str]:
    """Write the same views into a graph, as products with matrices."""
    yield x
    if number >= 2:
        yield graph.node("Gather", x, graph.constant(np.arange(size)[::-1].copy()), axis=3)
    if number == 8:
        side = _side(size)
        matrix = resizing_matrix(side, size)
        for top, left, mirrored in _crops(size):
            rows, columns = (
                np.pad(matrix, ((0, 0), (start, size - side - start))) for start in (top, left)
            )
            columns = columns[::-1] if mirrored else columns
            crop = graph.node("MatMul", x, graph.constant(columns.T.copy()))
            yield graph.node("MatMul", graph.constant(rows), crop)


def _side(size: int) -> int:
    return round(CROP * size)


def _crops(size: int) -> list[tuple[int, int, bool]]:
    """Return the top and the left of each crop, and whether it is mirrored."""
    rest = size - _side(size)
    half = rest // 2
    plain = ((half, half), (0, 0), (rest, 0))
    mirrored = ((half, half), (0, rest), (rest, rest))
    return [(*place, False) for place in plain] + [(*place, True) for place in mirrored]
