"""Placing labels so that they do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.isotonic import isotonic_regression

# x, y, text, whether it must be there, font
PlacedLabel = tuple[float, float, str, bool, dict[str, Any]]
Box = tuple[float, ...]  # left, bottom, right, top
# Where a label may stand, as seen from its point: offset in points, and alignment.
PLACES = (
    (6, 0, "left", "center"),
    (-6, 0, "right", "center"),
    (0, 6, "center", "bottom"),
    (0, -6, "center", "top"),
    (4, 5, "left", "bottom"),
    (-4, 5, "right", "bottom"),
    (4, -5, "left", "top"),
    (-4, -5, "right", "top"),
    (8, 12, "left", "bottom"),
    (-8, 12, "right", "bottom"),
    (8, -12, "left", "top"),
    (-8, -12, "right", "top"),
)


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move heights as little as possible (least squares) so that they are a gap apart.

    Examples
    --------
    >>> [round(y, 2) for y in spread([0.5, 0.52, 0.9], 0.1, 0.0, 1.0)]
    [0.46, 0.56, 0.9]
    """
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    moved = np.empty(len(wanted))
    moved[order] = steps + isotonic_regression(
        np.asarray(wanted)[order] - steps, y_min=low, y_max=max(low, high - gap * (len(steps) - 1))
    )
    return [float(height) for height in moved]


def place(axes: Any, texts: Sequence[PlacedLabel]) -> None:
    """Label points.

    A label goes where it covers least of the other labels and points; one that need not be there
    is left out if it would cover anything.
    """
    figure = axes.figure
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    frame = tuple(axes.get_window_extent(renderer).padded(2).extents)
    points = axes.transData.transform([(x, y) for x, y, *_ in texts])
    taken: list[Box] = [(x - 4, y - 4, x + 4, y + 4) for x, y in points]
    for x, y, text, needed, font in texts:
        label = axes.annotate(
            text, (x, y), (0, 0), textcoords="offset points", annotation_clip=False
        )
        label.set(**font)
        tried = []
        for number, (dx, dy, ha, va) in enumerate(PLACES):
            label.set(position=(dx, dy), ha=ha, va=va)
            box: Box = tuple(label.get_window_extent(renderer).extents)
            covered = sum(_overlap(box, other) for other in taken)
            outside = _overlap(box, box) - _overlap(box, frame)
            tried.append((round(covered + 4 * outside, 3), number, box))
        cost, number, box = min(tried, key=lambda one: one[:2])
        dx, dy, ha, va = PLACES[number]
        label.set(position=(dx, dy), ha=ha, va=va)
        if cost > 0 and not needed:
            label.remove()
        else:
            taken.append(box)


def _overlap(one: Box, other: Box) -> float:
    left, bottom, right, top = one
    width = min(right, other[2]) - max(left, other[0])
    height = min(top, other[3]) - max(bottom, other[1])
    return max(0.0, width) * max(0.0, height)
