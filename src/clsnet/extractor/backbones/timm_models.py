"""Models of timm."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.network import Network, Tapped, needed

LAYERS = 4


class TappedTimm(Tapped):
    """The last four blocks or stages that timm lets out, then what the head is given."""

    network: Any

    def maps(self, x: Tensor) -> list[Tensor]:
        """Return the maps, and the last layer pooled."""
        layers = min(LAYERS, len(self.network.feature_info))
        last, states = self.network.forward_intermediates(x, indices=layers)
        return [*states, self.network.forward_head(last, pre_logits=True)]

    def embed(self, x: Tensor) -> Tensor:
        """Return what the head is given."""
        features = self.network.forward_features(x)
        last: Tensor = self.network.forward_head(features, pre_logits=True)
        return last


class TappedPyramid(Tapped):
    """The last four maps of a model that timm can only cut into a pyramid of features."""

    def maps(self, x: Tensor) -> list[Tensor]:
        """Return the maps."""
        return list(self.network(x)[-LAYERS:])

    def embed(self, x: Tensor) -> Tensor:
        """Return the average of the last map."""
        return self.maps(x)[-1].mean(dim=(2, 3))


class Timm(Network):
    """A model that ``timm`` can load with its weights.

    Parameters
    ----------
    model
        Its name in timm, or any address that timm takes.
    taps
        ``"several"`` depths, ``"many"``: at two scales, or the ``"last"`` layer, as in the paper.
    mirror
        Average the features of the image and of its mirror image.
    """

    name = "timm"

    def __init__(self, model: str, taps: str = "several", mirror: bool = True) -> None:
        timm = needed("timm", f"timm:{model}", "timm")
        try:
            network = timm.create_model(model, pretrained=True)
            tapped: Tapped = TappedTimm(network, taps)
            if taps != "last" and not hasattr(network, "forward_intermediates"):
                pyramid = timm.create_model(model, pretrained=True, features_only=True)
                tapped = TappedPyramid(pyramid, taps)
        except (OSError, RuntimeError, AttributeError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise ClsnetError(f"cannot load timm:{model}: {reason}") from None
        about = network.pretrained_cfg
        super().__init__(tapped, about["input_size"][-1], about["mean"], about["std"], mirror)
        self.model = model
        self.trained_on = f"timm:{model}"
