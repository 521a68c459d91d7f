"""CLSNet as the authors released it."""

from __future__ import annotations

from typing import Any

from clsnet.estimator import CLSNet
from clsnet.methods.registry import Method


def learner(seed: int, **options: Any) -> CLSNet:
    """Return an estimator with the options of the release."""
    return CLSNet.demo(random_state=seed, **options)


METHOD = Method(
    name="clsnet-demo",
    module=__name__,
    learner="learner",
    family="ours",
    keeps="declarative parameters and a diagonal per class",
    reference="Li & Zeng, Complementary Learning Subnetworks for Parameter-Efficient CIL; "
    "the released code",
    paper="CLSNet",
    grid={"ridge": [1e-8, 1e-4, 1e-3, 1e-2, 1e-1]},
    without={"terms": (1,)},
)
