"""Dead leaves: synthetic images with edges and shading like natural ones, drawn from a seed."""

from __future__ import annotations

import numpy as np

SIDE = 28
LEAVES = 20
RADII = (4.0, 20.0)


def dead_leaves(n_images: int, random: np.random.RandomState) -> np.ndarray:
    """Draw images in which shaded ellipses and rectangles of all sizes cover each other.

    Radii follow the power law (exponent 3) that makes such images look alike at every scale.

    Examples
    --------
    >>> dead_leaves(2, np.random.RandomState(0)).shape
    (2, 28, 28)
    """
    y, x = np.mgrid[:SIDE, :SIDE].astype(float)
    small, large = (radius**-2 for radius in RADII)
    images = np.zeros((n_images, SIDE, SIDE))
    for _ in range(LEAVES):
        u = random.uniform(size=(9, n_images, 1, 1))
        radius = (small + u[0] * (large - small)) ** -0.5
        angle, stretch = np.pi * u[1], 2 ** (u[2] - 0.5)
        dx, dy = (x - (SIDE + 8) * u[3] + 4), (y - (SIDE + 8) * u[4] + 4)
        along = (dx * np.cos(angle) + dy * np.sin(angle)) / stretch
        across = (dy * np.cos(angle) - dx * np.sin(angle)) * stretch
        round_ = np.hypot(along, across)
        distance = np.where(u[5] < 0.5, round_, np.maximum(abs(along), abs(across))) - radius
        shade = u[6] + ((u[7] - 0.5) * along + (u[8] - 0.5) * across) / (2 * radius)
        cover = np.clip(0.5 - distance, 0, 1)
        images += cover * (np.clip(shade, 0, 1) - images)
    return images
