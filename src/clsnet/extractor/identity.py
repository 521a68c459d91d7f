"""What tells two fitted extractors apart, in a few numbers that a file can hold."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from clsnet.arrays.devices import to_numpy
from clsnet.storage.schema import ANYTHING, listed, mapped, number, record, text, whole

if TYPE_CHECKING:
    from clsnet.extractor.extractor import Extractor

SAME = 1e-4  # relative; machines differ by less in what they compute from the same weights
PROBES = 4
Identity = dict[str, Any]

IDENTITY = record(
    {
        "backbone": text(),
        "network": text(100),
        "augmentation": mapped(ANYTHING),
        "seed": whole(0, 2**32 - 1),
        "dimension": whole(1, 2**24),
        "fitted": mapped(
            record(
                {"shape": listed(whole(0, 2**48), 8), "probes": listed(number(), PROBES + 1)},
            ),
            most=1000,
        ),
    }
)
"""What a file may hold of it."""


def identity(extractor: Extractor) -> Identity:
    """Return what the features of a fitted extractor follow from, as JSON can hold it.

    A frozen network is told by the digest of its weights, and other backbones by their names and
    options. Of each array that `fit` found there is its norm and its products with a few random
    vectors, which are the same everywhere: they tell two arrays apart, and allow for rounding.
    """
    backbone = extractor.backbone
    return {
        "backbone": f"{type(backbone).__name__}: {backbone!r}"[:1000],
        "network": backbone.fingerprint,
        "augmentation": json.loads(json.dumps(extractor.augmentation.config)),
        "seed": extractor.seed,
        "dimension": extractor.dimension,
        "fitted": {name: _probed(name, to_numpy(a)) for name, a in extractor.state().items()},
    }


def difference(one: Identity, other: Identity) -> str:
    """Say in what two extractors differ, or nothing if they do so by rounding at most."""
    by_name = not one["network"] and one["backbone"] != other["backbone"]
    if one["network"] != other["network"] or by_name:
        if one["backbone"] == other["backbone"]:
            return "weights of the network"
        names = (each["backbone"].partition(": ")[2] for each in (one, other))
        return f"backbone ({' and '.join(names)})"
    if one["augmentation"] != other["augmentation"]:
        return "augmentation"
    if one["seed"] != other["seed"]:
        return "random_state"
    if one["dimension"] != other["dimension"] or not _close(one["fitted"], other["fitted"]):
        return "samples that the extractor was fitted to"
    return ""


def _probed(name: str, array: np.ndarray) -> dict[str, Any]:
    values = np.asarray(array, dtype=np.float64).reshape(-1)
    random = np.random.RandomState(zlib.crc32(name.encode()))
    products = [float(values @ random.standard_normal(len(values))) for _ in range(PROBES)]
    return {"shape": list(array.shape), "probes": [float(np.linalg.norm(values)), *products]}


def _close(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        a["shape"] == other[name]["shape"]
        and len(a["probes"]) == len(other[name]["probes"])
        and np.abs(np.subtract(a["probes"], other[name]["probes"])).max()
        <= SAME * max(a["probes"][0], other[name]["probes"][0])
        for name, a in one.items()
    )
