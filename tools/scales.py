"""Measure the scales of the networks of the photo tool and write them into the package.

python tools/scales.py
"""

from __future__ import annotations

import numpy as np

from clsnet.extractor.backbones.efficientnet_lite import (
    EfficientNetLite,
    EfficientNetLite1,
    EfficientNetLite2,
)
from clsnet.extractor.backbones.scales import SHIPPED
from clsnet.extractor.backbones.tapped import TEXTURED
from clsnet.storage.tensors import as_bytes


def main() -> None:
    arrays: dict[str, np.ndarray] = {}
    networks = [
        *(
            kind("last", views=1)
            for kind in (EfficientNetLite, EfficientNetLite1, EfficientNetLite2)
        ),
        EfficientNetLite(TEXTURED, views=1),
    ]
    for network in networks:
        centre, factor = network.measured_scales()
        arrays[f"{network.fingerprint}.centre"] = centre
        arrays[f"{network.fingerprint}.factor"] = factor
    SHIPPED.write_bytes(as_bytes(arrays, {}))


if __name__ == "__main__":
    main()
