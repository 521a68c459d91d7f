"""Residual networks of ``clsnet pretrain``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.network import Network, Tapped
from clsnet.extractor.backbones.random_nodes import Places
from clsnet.methods.common.residual import Residual
from clsnet.extractor.backbones.weights import read_weights

BLOCKS = {18: (2, 3, 4, 5, 6, 7), 50: (6, 11, 12, 14, 15)}
IN_CELLS = {18: (0, 1, 2, 3), 50: ()}
SHARES = {18: (0, 2, 3, 4, 3, 0), 50: ()}


class TappedResidual(Tapped):
    """Blocks of stages 2 to 4; the shallow ones of ResNet-18 in cells, or with random nodes."""

    network: Residual

    def __init__(self, network: Residual, depth: int, taps: str, nodes: int) -> None:
        super().__init__(network, taps)
        self.tapped_blocks = BLOCKS[depth]
        self.in_cells = IN_CELLS[depth]
        if nodes and SHARES[depth] and taps != "last":
            self.in_cells = ()
            nodes = nodes // 2 if taps == "many" else nodes
            for i, (block, share) in enumerate(zip(self.tapped_blocks, SHARES[depth], strict=True)):
                if share:
                    number = nodes * share // sum(SHARES[depth])
                    self.places[str(i)] = Places(64 * 2 ** (block // 2), number, seed=i)

    def maps(self, x: Tensor) -> list[Tensor]:
        """Return the outputs of the tapped blocks."""
        outputs = list(self.network.blocks(x))
        return [outputs[i] for i in self.tapped_blocks]

    def embed(self, x: Tensor) -> Tensor:
        """Return the pooled output of the last block."""
        return self.network.embed(x)


class ResNet(Network):
    """A residual network from a file of ``clsnet pretrain``.

    Parameters
    ----------
    weights
        The file.
    taps
        ``"several"`` depths, ``"many"``: at two scales, or the ``"last"`` layer, as in the paper.
    views
        1, 2: average with the mirror image, or 8: with crops and their mirror images too.
    nodes
        Random nodes at every place of the outputs of ResNet-18, in the place of cells; of both
        scales together. The last layer and ResNet-50 have none.
    """

    name = "resnet"

    def __init__(self, weights: str, taps: str = "several", views: int = 2, nodes: int = 0) -> None:
        about, state = read_weights(Path(weights))
        if about.network not in ("resnet18", "resnet50"):
            raise ClsnetError(f"{weights} holds weights of {about.network!r}, not of a ResNet.")
        form = asdict(about)
        try:
            network = self._built(form, state)
        except RuntimeError:
            raise ClsnetError(
                f"the weights in {weights} do not fit {about.network}; make them again with "
                "clsnet pretrain."
            ) from None
        self._wrap(network, form, weights, taps, views, nodes)

    @classmethod
    def _built(cls, form: Mapping[str, Any], state: Mapping[str, Tensor]) -> Residual:
        n_classes = len(state.get("fc.bias", (0,)))
        network = Residual(_depth(form), form["small"], n_classes)
        network.load_state_dict(state)
        return network

    def _wrap(
        self,
        network: Any,
        form: Mapping[str, Any],
        weights: str,
        taps: str,
        views: int,
        nodes: int = 0,
    ) -> None:
        tapped = TappedResidual(network, _depth(form), taps, nodes)
        Network.__init__(self, tapped, form["size"], form["mean"], form["deviation"], views)
        self.form = form
        self.weights = weights
        self.nodes = nodes
        self.trained_on = form["dataset"]
        self.seen_classes = tuple(form["classes"])


def _depth(form: Mapping[str, Any]) -> int:
    return int(form["network"].removeprefix("resnet"))
