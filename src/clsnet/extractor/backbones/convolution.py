"""A convolution and its batch normalisation, as one convolution of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clsnet.extractor.graph import Graph

State = Mapping[str, np.ndarray]


class Map(NamedTuple):
    """A value of a graph of shape (n, channels, side, side)."""

    value: str
    channels: int
    side: int


@dataclass(frozen=True)
class Convolution:
    """A convolution without a bias, and the batch normalisation behind it.

    Parameters
    ----------
    name
        Of the convolution, in a state dict.
    norm
        Of the batch normalisation.
    inputs, outputs
        Numbers of channels.
    kernel, stride, groups
        Of the convolution.
    padding
        Zeros before the first and behind the last pixel of a row or column.
    epsilon
        What the normalisation adds to a variance.
    """

    name: str
    norm: str
    inputs: int
    outputs: int
    kernel: int = 1
    stride: int = 1
    groups: int = 1
    padding: tuple[int, int] = (0, 0)
    epsilon: float = 1e-5

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of its arrays in a state dict."""
        weight = (self.outputs, self.inputs // self.groups, self.kernel, self.kernel)
        names = ("weight", "bias", "running_mean", "running_var")
        norm = {f"{self.norm}.{name}": (self.outputs,) for name in names}
        return {f"{self.name}.weight": weight, **norm, f"{self.norm}.num_batches_tracked": ()}

    def folded(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Return the weight and the bias of the two as one convolution."""
        gain, bias, mean, variance = (
            state[f"{self.norm}.{name}"].astype(np.float64)
            for name in ("weight", "bias", "running_mean", "running_var")
        )
        factor = gain / np.sqrt(variance + self.epsilon)
        weight = state[f"{self.name}.weight"]
        folded = weight * factor.astype(np.float32)[:, None, None, None]
        return folded, np.asarray(bias - mean * factor, np.float32)

    def write(self, graph: Graph, state: State, x: Map) -> Map:
        """Write it into a graph."""
        weight, bias = self.folded(state)
        value = graph.node(
            "Conv",
            x.value,
            graph.constant(weight),
            graph.constant(bias),
            kernel_shape=[self.kernel] * 2,
            strides=[self.stride] * 2,
            pads=[self.padding[0]] * 2 + [self.padding[1]] * 2,
            group=self.groups,
        )
        side = (x.side + sum(self.padding) - self.kernel) // self.stride + 1
        return Map(value, self.outputs, side)


class MisfitError(Exception):
    """Weights are not those of a network."""


def check_shapes(state: State, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse weights that do not have exactly these names and shapes.

    Examples
    --------
    >>> check_shapes({"a": np.zeros(2)}, {"a": (2,), "b": ()})
    Traceback (most recent call last):
    ...
    clsnet.extractor.backbones.convolution.MisfitError: there is no b
    """
    for name, shape in shapes.items():
        if name not in state:
            raise MisfitError(f"there is no {name}")
        if state[name].shape != shape:
            raise MisfitError(f"{name} has the shape {state[name].shape}, not {shape}")
    if unknown := state.keys() - shapes.keys():
        raise MisfitError(f"there is an unknown {min(unknown)}")
