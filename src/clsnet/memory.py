"""The memory of a method, counted as in the paper."""

from __future__ import annotations

from dataclasses import dataclass

MEGABYTE = 2**20


@dataclass(frozen=True)
class MemoryUse:
    """Size in MB of everything needed to predict and to go on learning, as 32-bit numbers.

    A frozen network that a model refers to without holding it counts as `backbone_mb`. Random
    weights that follow from a seed do not count.
    """

    model_mb: float
    exemplar_mb: float = 0.0
    backbone_mb: float = 0.0
