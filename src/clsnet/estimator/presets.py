"""Named settings: features for images in three sizes, and the authors' two configurations."""

from __future__ import annotations

from typing import Any

from clsnet.extractor import Augmentation, Identity, Patches
from clsnet.extractor.backbones.network import Network

# For a frozen network: where features are taken, and over how many views they are averaged.
TAPS = {"fast": "several", "small": "several", "best": "many"}
VIEWS = {"fast": 2, "small": 2, "best": 8}
# Random nodes of a frozen network: at every place of its outputs if it can have them there, else
# behind its features.
PLACED = {"fast": 6_000, "small": 0, "best": 20_000}
NODES = {"fast": 3_000, "small": 0, "best": 20_000}
PRESETS: dict[str, dict[str, Any]] = {
    "fast": {"backbone": Patches(filters=32, sizes=(5,)), "connection": "Z"},
    "small": {
        "backbone": Patches(filters=7, sizes=(4, 6, 8, 11, 15), mirror=True),
        "connection": "Z",
    },
    "best": {
        "backbone": Patches(
            filters=26, sizes=(3, 4, 6, 8, 11, 15), contrast=(1e-4, 1e-1), mirror=True
        ),
        "connection": "Z",
    },
}


def network_augmentation(preset: str, network: Network) -> Augmentation:
    """Return what a preset adds behind a frozen network; none of it depends on a task."""
    if network.has_nodes or NODES[preset] == 0:
        return Augmentation("Z")
    return Augmentation("Z+G", groups=1, group_size=NODES[preset], weights="scaled")


def paper_options() -> dict[str, Any]:
    """Return the paper's configuration (n = k = 30, alpha = 0.01, rho = 2^-30, gamma = 10^4)."""
    return {
        "backbone": Identity(scale="none"),
        "taps": "last",
        "views": 1,
        "connection": "A",
        "groups": 30,
        "group_size": 30,
        "alpha": 0.01,
        "curvature": "diagonal",
        "phantoms": 1,
        "gamma": 1e4,
        "terms": (1, 2, 3),
        "ridge": 2.0**-30,
        "retain": "tasks",
    }


def demo_options() -> dict[str, Any]:
    """Return what the authors released: 10 groups of 10, then 800 tanh and 900 ReLU nodes.

    Their single-task inverse is a pseudo-inverse without a ridge; the ridge that stands for it
    here was chosen on held-out training data of Fashion-MNIST. Their plasticity knows that there
    will be ten outputs, two of them a task's own; that is the constant of eight phantom classes.
    """
    return {
        "backbone": Identity(scale="sample"),
        "augmentation": Augmentation(
            connection="G*",
            groups=10,
            group_size=10,
            activation="none",
            alpha=1e-3,
            weights="normal",
            constant=0.1,
            unit=True,
            tanh_nodes=800,
            relu_nodes=900,
        ),
        "curvature": "diagonal",
        "fisher": "square-of-mean",
        "phantoms": 8,
        "gamma": 3000.0,
        "terms": (1, 2, 3),
        "ridge": 0.1,
        "retain": "tasks",
    }
