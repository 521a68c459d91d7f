"""CLSNet as the paper's text describes it."""

from __future__ import annotations

from typing import Any

from clsnet.estimator import CLSNet
from clsnet.methods.registry import Method


def learner(seed: int, **options: Any) -> CLSNet:
    """Return an estimator with the options of the text."""
    return CLSNet.paper(random_state=seed, **options)


METHOD = Method(
    name="clsnet-paper",
    module=__name__,
    learner="learner",
    family="ours",
    keeps="declarative parameters and a diagonal per class",
    reference="Li & Zeng, Complementary Learning Subnetworks for Parameter-Efficient CIL; the text",
    paper="CLSNet",
    backbones=True,
    grid={
        "gamma": [1e4, 1e6, 1e7, 3e7, 1e8],
        "ridge": [9.313225746154785e-10, 0.03, 0.3, 1.0],  # the first is 2^-30, the authors'
    },
    without={"terms": (1,)},
)
