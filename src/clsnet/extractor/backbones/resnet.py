"""Residual networks of ``clsnet pretrain``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.convolution import (
    Convolution,
    Map,
    MisfitError,
    State,
    check_shapes,
)
from clsnet.extractor.backbones.network import Network
from clsnet.extractor.backbones.random_nodes import RandomNodes
from clsnet.extractor.backbones.tapped import TappedGraph
from clsnet.extractor.backbones.weights import about_of, read_weights
from clsnet.extractor.graph import Graph

STEM = 64
BLOCKS = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3)}
TAPPED = {18: (2, 3, 4, 5, 6, 7), 50: (6, 11, 12, 14, 15)}
IN_CELLS = {18: (0, 1, 2, 3), 50: ()}
SHARES = {18: (0, 2, 3, 4, 3, 0), 50: ()}


@dataclass(frozen=True)
class Block:
    """Convolutions with ReLUs between them, and what the shortcut does to the input."""

    convolutions: tuple[Convolution, ...]
    shortcut: Convolution | None


class Architecture:
    """The layers of a residual network, named as in torchvision.

    Parameters
    ----------
    depth
        18 or 50.
    small
        Whether it is the form for small images: a 3x3 convolution first, and no stride before
        stage 2.

    Attributes
    ----------
    stem : Convolution
        The first layer.
    blocks : list of Block
        What follows.
    """

    def __init__(self, depth: int, small: bool) -> None:
        self.small = small
        kernel, stride = (3, 1) if small else (7, 2)
        self.stem = _convolution("conv1", "bn1", 3, STEM, kernel, stride)
        self.blocks = list(_blocks(depth))

    def shapes(self, n_classes: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of all arrays in a state dict."""
        layers = [self.stem]
        for block in self.blocks:
            layers += [*block.convolutions, *([block.shortcut] if block.shortcut else [])]
        width = self.blocks[-1].convolutions[-1].outputs
        classes = {"fc.weight": (n_classes, width), "fc.bias": (n_classes,)}
        return {name: shape for c in layers for name, shape in c.shapes().items()} | classes

    def write_blocks(self, graph: Graph, state: State, x: Map) -> Iterator[Map]:
        """Write the network, and yield the output of every block."""
        x = _relu(graph, self.stem.write(graph, state, x))
        if not self.small:
            pooled = graph.node(
                "MaxPool", x.value, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]
            )
            x = Map(pooled, x.channels, (x.side + 1) // 2)
        for block in self.blocks:
            *others, last = block.convolutions
            y = x
            for convolution in others:
                y = _relu(graph, convolution.write(graph, state, y))
            y = last.write(graph, state, y)
            skipped = block.shortcut.write(graph, state, x) if block.shortcut else x
            x = _relu(graph, y._replace(value=graph.node("Add", y.value, skipped.value)))
            yield x


class TappedResidual(TappedGraph):
    """Blocks of stages 2 to 4; the shallow ones of ResNet-18 in cells, or with random nodes."""

    def __init__(
        self, architecture: Architecture, state: State, depth: int, taps: str, nodes: int
    ) -> None:
        super().__init__(state, taps)
        self.architecture = architecture
        self.tapped_blocks = TAPPED[depth]
        self.in_cells = IN_CELLS[depth]
        if nodes and SHARES[depth] and taps != "last":
            self.in_cells = ()
            nodes = nodes // 2 if taps == "many" else nodes
            for i, (block, share) in enumerate(zip(self.tapped_blocks, SHARES[depth], strict=True)):
                if share:
                    channels = architecture.blocks[block].convolutions[-1].outputs
                    number = nodes * share // sum(SHARES[depth])
                    self.nodes[i] = RandomNodes(channels, number, seed=i)

    def write_maps(self, graph: Graph, x: Map) -> list[Map]:
        """Write the network, and return the outputs of the tapped blocks."""
        outputs = list(self.architecture.write_blocks(graph, self.state, x))
        return [outputs[i] for i in self.tapped_blocks]


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

    References
    ----------
    K. He et al., "Deep Residual Learning for Image Recognition", CVPR 2016.
    """

    name = "resnet"

    def __init__(self, weights: str, taps: str = "several", views: int = 2, nodes: int = 0) -> None:
        about, state = read_weights(Path(weights))
        try:
            self._build(state, asdict(about), weights, taps, views, nodes)
        except MisfitError:
            raise ClsnetError(
                f"the weights in {weights} do not fit {about.network}; make them again with "
                "clsnet pretrain."
            ) from None

    def _build(
        self,
        state: Mapping[str, np.ndarray],
        form: Mapping[str, Any],
        weights: str,
        taps: str,
        views: int,
        nodes: int = 0,
    ) -> None:
        about_of(form)
        depth = int(form["network"].removeprefix("resnet"))
        architecture = Architecture(depth, form["small"])
        n_classes = len(state.get("fc.bias", (0,)))
        check_shapes(state, architecture.shapes(n_classes))
        tapped = TappedResidual(architecture, state, depth, taps, nodes)
        Network.__init__(self, tapped, form["size"], form["mean"], form["deviation"], views)
        self.form = form
        self.weights = weights
        self.nodes = nodes
        self.trained_on = form["dataset"]
        self.seen_classes = tuple(form["classes"])


def _blocks(depth: int) -> Iterator[Block]:
    """Yield basic blocks of ResNet-18, or bottlenecks of ResNet-50 with a stride in the middle."""
    inputs = STEM
    for stage, repeats in enumerate(BLOCKS[depth]):
        width = STEM * 2**stage
        outputs = width if depth == 18 else 4 * width
        for repeat in range(repeats):
            name, stride = f"layer{stage + 1}.{repeat}", 2 if stage and not repeat else 1
            sizes = (
                ((inputs, width, 3, stride), (width, outputs, 3, 1))
                if depth == 18
                else ((inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1))
            )
            convolutions = (
                _convolution(f"{name}.conv{i}", f"{name}.bn{i}", *each)
                for i, each in enumerate(sizes, start=1)
            )
            shortcut = None
            if stride > 1 or inputs != outputs:
                names = (f"{name}.downsample.0", f"{name}.downsample.1")
                shortcut = _convolution(*names, inputs, outputs, 1, stride)
            yield Block(tuple(convolutions), shortcut)
            inputs = outputs


def _convolution(
    name: str, norm: str, inputs: int, outputs: int, kernel: int, stride: int
) -> Convolution:
    pads = (kernel // 2, kernel // 2)
    return Convolution(name, norm, inputs, outputs, kernel, stride, padding=pads)


def _relu(graph: Graph, x: Map) -> Map:
    return x._replace(value=graph.node("Relu", x.value))
