"""Networks that answer with their pooled outputs at several depths."""

from __future__ import annotations

import abc
import copy
import functools
from collections.abc import Iterable, Mapping
from typing import Protocol, Self

import numpy as np

from clsnet.arrays.devices import Array
from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.convolution import Map
from clsnet.extractor.backbones.random_nodes import RandomNodes
from clsnet.extractor.graph import Graph
from clsnet.extractor.runtime.graph_runtime import GraphRuntime

TAPS = ("several", "many", "last")
TEXTURED = "textured"  # the last layer, and textures, of networks whose textures are known


class Run(Protocol):
    """From normalised images (n, 3, size, size) to one row of pooled outputs each."""

    def __call__(self, x: Array | Iterable[Array]) -> Array:
        """Run the network where the images are; those of NumPy may come one after another."""


class Tapped(Protocol):
    """A frozen network that answers with its pooled outputs."""

    taps: str

    @property
    def nodes(self) -> Mapping[int, RandomNodes]:
        """Random nodes of some outputs."""

    @property
    def state(self) -> Mapping[str, np.ndarray]:
        """The weights by name."""

    def runtime(self, size: int) -> Run:
        """Return what runs the network on images of that size."""

    def write(self, graph: Graph, images: str, size: int) -> str:
        """Write the network into a graph, from normalised images to pooled outputs."""

    def without_cells(self) -> Self:
        """Return the same network without the means over cells."""


class TappedGraph(abc.ABC):
    """A network that is written into a graph.

    The mean and the quadratic mean of every output over the image are taken, of those in
    `in_cells` the mean over 2x2 cells too, and of those in `nodes` the means of random nodes. Of
    the last layer alone it is the mean.

    Parameters
    ----------
    state
        The weights by name.
    taps
        ``"several"`` depths, ``"many"``: the same at two scales, or the ``"last"`` layer before
        the head.
    """

    in_cells: tuple[int, ...] = ()
    more_taps: tuple[str, ...] = ()

    def __init__(self, state: Mapping[str, np.ndarray], taps: str) -> None:
        check_taps(taps, self.more_taps)
        self.state = state
        self.taps = taps
        self.nodes: dict[int, RandomNodes] = {}

    @abc.abstractmethod
    def write_maps(self, graph: Graph, x: Map) -> list[Map]:
        """Write the network, and return its outputs from shallow to deep."""

    def write(self, graph: Graph, images: str, size: int) -> str:
        """Write the network into a graph, from normalised images to pooled outputs."""
        maps = self.write_maps(graph, Map(images, 3, size))
        if self.taps == "last":
            return write_mean(graph, maps[-1].value)
        parts = []
        for i, x in enumerate(maps):
            square = graph.node("Mul", x.value, x.value)
            parts += [write_mean(graph, x.value), graph.node("Sqrt", write_mean(graph, square))]
            if i in self.in_cells:
                parts.append(_cells(graph, x))
            if i in self.nodes:
                parts.append(self.nodes[i].write(graph, x.value))
        return graph.node("Concat", *parts, axis=1)

    def runtime(self, size: int) -> GraphRuntime:
        """Return what runs the network on images of that size."""
        return GraphRuntime(functools.partial(self.write, size=size), size)

    def without_cells(self) -> Self:
        """Return the same network without the means over cells."""
        twin = copy.copy(self)
        twin.in_cells = ()
        return twin


def check_taps(taps: str, more: tuple[str, ...] = ()) -> None:
    """Refuse depths that do not exist."""
    if taps not in (*TAPS, *more):
        *others, last = map(repr, (*TAPS, *more))
        raise ClsnetError(f"unknown taps {taps!r}: use {', '.join(others)} or {last}.")


def write_mean(graph: Graph, x: str) -> str:
    """Write the mean over the image."""
    return graph.node("ReduceMean", x, graph.constant([2, 3]), keepdims=0)


def _cells(graph: Graph, x: Map) -> str:
    """Write the means over 2x2 cells, which overlap by a row and a column of an odd side."""
    kernel, stride, pad = (2, 1, 1) if x.side == 1 else (-(-x.side // 2), x.side // 2, 0)
    cells = graph.node(
        "AveragePool",
        x.value,
        kernel_shape=[kernel] * 2,
        strides=[stride] * 2,
        pads=[pad] * 4,
        count_include_pad=0,
    )
    return graph.node("Flatten", cells, axis=1)
