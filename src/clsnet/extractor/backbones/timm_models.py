"""Models of timm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.network import Network
from clsnet.extractor.backbones.tapped import check_taps
from clsnet.extras import needed

LAYERS = 4
OLDEST = "1.0.28"  # those before unpickle weights of a folder


class TimmOutputs:
    """The last four blocks or stages that timm lets out, then what the head is given."""

    def maps(self, network: Any, x: Any) -> list[Any]:
        """Return the maps, and the last layer pooled."""
        layers = min(LAYERS, len(network.feature_info))
        last, states = network.forward_intermediates(x, indices=layers)
        return [*states, network.forward_head(last, pre_logits=True)]

    def last(self, network: Any, x: Any) -> Any:
        """Return what the head is given."""
        return network.forward_head(network.forward_features(x), pre_logits=True)


class PyramidOutputs:
    """The last four maps of a model that timm can only cut into a pyramid of features."""

    def maps(self, network: Any, x: Any) -> list[Any]:
        """Return the maps."""
        return list(network(x)[-LAYERS:])

    def last(self, network: Any, x: Any) -> Any:
        """Return the average of the last map."""
        return self.maps(network, x)[-1].mean(dim=(2, 3))


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
        needed("torch", f"timm:{model}", "timm")
        timm = needed("timm", f"timm:{model}", "timm", OLDEST)
        try:
            network = timm.create_model(model, pretrained=True)
            form = {"about": network.pretrained_cfg, "pyramid": False}
            if taps != "last" and not hasattr(network, "forward_intermediates"):
                network = timm.create_model(model, pretrained=True, features_only=True)
                form["pyramid"] = True
        except (OSError, RuntimeError, AttributeError) as error:
            reason = str(error).strip().partition("\n")[0]
            if "weights_only" in reason:  # timm tells how to load it nevertheless
                reason = "its weights are a pickle that asks for more than arrays"
            raise ClsnetError(f"cannot load timm:{model}: {reason}") from None
        self._wrap(network, form, model, taps, views)

    def _build(
        self,
        state: Mapping[str, np.ndarray],
        form: Mapping[str, Any],
        model: str,
        taps: str,
        views: int,
    ) -> None:
        needed("torch", "timm", "timm")
        from clsnet.extractor.runtime.torch_module import as_tensors

        timm = needed("timm", "timm", "timm", OLDEST)
        about = form["about"]
        if not timm.is_model(about["architecture"]):  # such as an address to fetch it from
            raise ValueError("it is no architecture of timm")
        options = {"features_only": True} if form["pyramid"] else {}
        network = timm.create_model(about["architecture"], pretrained_cfg=about, **options)
        network.load_state_dict(as_tensors(state))
        self._wrap(network, form, model, taps, views)

    def _wrap(
        self, network: Any, form: Mapping[str, Any], model: str, taps: str, views: int
    ) -> None:
        from clsnet.extractor.runtime.torch_module import TappedModule

        check_taps(taps)
        outputs = PyramidOutputs() if form["pyramid"] else TimmOutputs()
        tapped = TappedModule(network, outputs, taps)
        about = form["about"]
        Network.__init__(self, tapped, about["input_size"][-1], about["mean"], about["std"], views)
        self.form = form
        self.model = model
        self.trained_on = f"timm:{model}"
