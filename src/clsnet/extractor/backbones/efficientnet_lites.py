"""EfficientNet-Lite0, 1 and 2 side by side: more accurate than each of them, and slower."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clsnet.extractor.backbones.efficientnet_lite import (
    EfficientNetLite,
    EfficientNetLite1,
    EfficientNetLite2,
)
from clsnet.extractor.backbones.network import Network

KINDS = (EfficientNetLite, EfficientNetLite1, EfficientNetLite2)


class EfficientNetLites(Network):
    """The features of EfficientNet-Lite0, 1 and 2 in one row.

    Images are those of the largest network; each of the others sees them in its own size.

    Parameters
    ----------
    taps
        ``"several"`` depths, ``"many"``: at two scales, or the ``"last"`` layer.
    views
        1, 2: average with the mirror image, or 8: with crops and their mirror images too.
    """

    name = "efficientnet-lite0+1+2"
    trained_on = EfficientNetLite.trained_on

    def __init__(self, taps: str = "several", views: int = 2) -> None:
        self._join([kind(taps, views) for kind in KINDS])

    def _build(
        self, state: Mapping[str, np.ndarray], form: Mapping[str, Any], taps: str, views: int
    ) -> None:
        networks = []
        for kind in KINDS:
            network = kind.__new__(kind)
            network._build(_below(f"{kind.name}.", state), {}, taps, views)
            networks.append(network)
        self._join(networks)

    def _join(self, networks: Sequence[EfficientNetLite]) -> None:
        largest = networks[-1]
        tapped = largest._tapped[largest.size]
        mean, deviation = (each.ravel().tolist() for each in (largest.mean, largest.deviation))
        Network.__init__(self, tapped, largest.size, mean, deviation, largest.views)
        self._sizes = [network.size for network in networks]
        self._tapped = {size: each for n in networks for size, each in n._tapped.items()}
        self._runtimes = {size: each for n in networks for size, each in n._runtimes.items()}

    def weights_state(self) -> Mapping[str, np.ndarray]:
        """Return the arrays of all networks by name."""
        return {
            f"{kind.name}.{name}": value
            for kind, size in zip(KINDS, self._sizes, strict=True)
            for name, value in self._tapped[size].state.items()
        }

    def _n_views(self, size: int) -> int:
        return self.views if size in self._sizes else min(self.views, 2)


def _below(start: str, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.removeprefix(start): a for name, a in state.items() if name.startswith(start)}
