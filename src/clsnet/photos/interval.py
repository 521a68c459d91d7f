"""Confidence interval of a share."""

from __future__ import annotations

import math

DEVIATIONS = 1.959963984540054  # of a Gaussian, on either side of 95 %


def wilson(right: float, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % confidence interval for a share of successes in n trials.

    Examples
    --------
    >>> tuple(round(end, 4) for end in wilson(9, 10))
    (0.5958, 0.9821)
    >>> wilson(0, 0)
    (0.0, 1.0)
    """
    if n == 0:
        return 0.0, 1.0
    share, squared = right / n, DEVIATIONS**2 / n
    centre = share + squared / 2
    width = math.sqrt(squared * (share * (1 - share) + squared / 4))
    return max((centre - width) / (1 + squared), 0.0), min((centre + width) / (1 + squared), 1.0)
