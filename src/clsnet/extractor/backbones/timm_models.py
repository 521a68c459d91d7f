"""Models of timm."""

from __future__ import annotations

from collections.abc import Mapping
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
    views
        1, 2: average with the mirror image, or 8: with crops and their mirror images too.
    """

    name = "timm"

    def __init__(self, model: str, taps: str = "several", views: int = 2) -> None:
        timm = needed("timm", f"timm:{model}", "timm")
        try:
            network = timm.create_model(model, pretrained=True)
            form = {"about": network.pretrained_cfg, "pyramid": False}
            if taps != "last" and not hasattr(network, "forward_intermediates"):
                network = timm.create_model(model, pretrained=True, features_only=True)
                form["pyramid"] = True
        except (OSError, RuntimeError, AttributeError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise ClsnetError(f"cannot load timm:{model}: {reason}") from None
        self._wrap(network, form, model, taps, views)

    @classmethod
    def _built(cls, form: Mapping[str, Any], state: Mapping[str, Tensor]) -> Any:
        timm = needed("timm", "timm", "timm")
        about = form["about"]
        options = {"features_only": True} if form["pyramid"] else {}
        network = timm.create_model(about["architecture"], pretrained_cfg=about, **options)
        network.load_state_dict(state)
        return network

    def _wrap(
        self, network: Any, form: Mapping[str, Any], model: str, taps: str, views: int
    ) -> None:
        tapped = TappedPyramid(network, taps) if form["pyramid"] else TappedTimm(network, taps)
        about = form["about"]
        Network.__init__(self, tapped, about["input_size"][-1], about["mean"], about["std"], views)
        self.form = form
        self.model = model
        self.trained_on = f"timm:{model}"
