"""Residual networks of ``clsnet pretrain``."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.network import Network, Tapped
from clsnet.extractor.backbones.residual import Residual
from clsnet.extractor.backbones.weights import read_weights

BLOCKS = {18: (2, 3, 4, 5, 6, 7), 50: (6, 11, 12, 14, 15)}
IN_CELLS = {18: (0, 1, 2, 3), 50: ()}


class TappedResidual(Tapped):
    """Blocks of stages 2 to 4, the shallow ones of ResNet-18 in cells."""

    network: Residual

    def __init__(self, network: Residual, depth: int, taps: str) -> None:
        super().__init__(network, taps)
        self.tapped_blocks = BLOCKS[depth]
        self.in_cells = IN_CELLS[depth]

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
    mirror
        Average the features of the image and of its mirror image.
    """

    name = "resnet"

    def __init__(self, weights: str, taps: str = "several", mirror: bool = True) -> None:
        about, state = read_weights(Path(weights))
        if about.network not in ("resnet18", "resnet50"):
            raise ClsnetError(f"{weights} holds weights of {about.network!r}, not of a ResNet.")
        depth = int(about.network.removeprefix("resnet"))
        network = Residual(depth, about.small, n_classes=len(state.get("fc.bias", (0,))))
        try:
            network.load_state_dict(state)
        except RuntimeError:
            raise ClsnetError(
                f"the weights in {weights} do not fit {about.network}; make them again with "
                "clsnet pretrain."
            ) from None
        tapped = TappedResidual(network, depth, taps)
        super().__init__(tapped, about.size, about.mean, about.deviation, mirror)
        self.weights = weights
        self.trained_on = about.dataset
        self.seen_classes = about.classes
