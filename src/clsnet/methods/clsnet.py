"""Our own method: CLSNet with its defaults, the full curvature."""

from __future__ import annotations

from typing import Any

from clsnet.estimator import CLSNet
from clsnet.methods.registry import Method


def learner(seed: int, preset: str | None = None, **options: Any) -> CLSNet:
    """Return an estimator with a seed."""
    return CLSNet(random_state=seed, preset=preset, **options)


METHOD = Method(
    name="clsnet",
    module=__name__,
    learner="learner",
    family="ours",
    keeps="one Gram matrix and one sum per class",
    reference="Li & Zeng, Complementary Learning Subnetworks for Parameter-Efficient CIL; "
    "full curvature",
    paper="CLSNet",
    presets=True,
    backbones=True,
    without={"terms": (1,)},
)
