"""The configuration that the authors released, on the data set that they released it for."""

from __future__ import annotations

from typing import Any

from clsnet.evaluation.protocol import AGNOSTIC
from clsnet.experiments.needs import ORDERS, Needed

FASHION = "FashionMNIST-10/5"
DIGITS = "Digits-10/5"
METHOD = "clsnet-demo"
TUNED = {"gamma": 3e7, "ridge": 1.0}  # of the paper's text, by --tune in three of five orders


def place(quick: bool) -> str:
    """Return the sequence of the paper's ablations, or a small one."""
    return DIGITS if quick else FASHION


def released(quick: bool, protocol: str = AGNOSTIC, **options: Any) -> Needed:
    """Return runs of the release, with other options; one order of a small sequence if quick."""
    orders = 1 if quick else ORDERS
    return Needed((place(quick),), METHOD, options, protocol=protocol, orders=orders)
