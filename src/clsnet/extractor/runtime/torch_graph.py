"""Networks that are graphs, in torch: on a GPU, or where no other runtime is installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from clsnet.extractor.graph import Graph, Node
from clsnet.extractor.runtime.split_convolutions import in_numpy, in_parts

Operator = Callable[..., Tensor]


class InTorch:
    """A graph whose nodes are computed one after another by torch.

    It knows the operators that the networks of this package are made of.

    Parameters
    ----------
    graph
        With one input and one output.
    device
        Where it is computed.
    """

    def __init__(self, graph: Graph, device: Any) -> None:
        self._input, self._output = graph.input_names[0], graph.output_names[0]
        self._constants = {
            name: _constant(value, device) for name, value in graph.constants.items()
        }
        self._nodes = graph.nodes
        self._last_uses = _last_uses(graph.nodes)

    def __call__(self, x: Any) -> Any:
        """Run the network where the images are: in torch, or in NumPy one after another."""
        if not isinstance(x, Tensor):
            return in_numpy(self._compute, x)
        return in_parts(self._compute, x)

    def _compute(self, x: Tensor) -> Tensor:
        values = {self._input: x}
        for node, done in zip(self._nodes, self._last_uses, strict=True):
            inputs = [values.get(name, self._constants.get(name)) for name in node.inputs]
            values[node.outputs[0]] = OPERATORS[node.operator](*inputs, **node.attributes)
            for name in done:
                values.pop(name, None)
        return values[self._output]


def _constant(value: np.ndarray, device: Any) -> Any:
    """Return weights as tensors, and axes as lists of numbers."""
    if value.dtype.kind == "i":
        return value.tolist()
    return torch.from_numpy(np.array(value)).to(device)


def _last_uses(nodes: list[Node]) -> list[list[str]]:
    """Return for each node the values that no later node needs."""
    seen: set[str] = set()
    done = []
    for node in reversed(nodes):
        done.append([name for name in node.inputs if name not in seen])
        seen |= set(node.inputs)
    return done[::-1]


def _conv(x: Tensor, weight: Tensor, bias: Tensor, **options: Any) -> Tensor:
    x, padding = _padded(x, options.get("pads", [0, 0, 0, 0]))
    strides = options.get("strides", [1, 1])
    return functional.conv2d(x, weight, bias, strides, padding, 1, options.get("group", 1))


def _padded(x: Tensor, pads: list[int]) -> tuple[Tensor, list[int]]:
    """Leave equal pads to the convolution, and add others."""
    top, left, bottom, right = pads
    if (top, left) == (bottom, right):
        return x, [top, left]
    return functional.pad(x, (left, right, top, bottom)), [0, 0]


def _average_pool(x: Tensor, **options: Any) -> Tensor:
    return functional.avg_pool2d(
        x,
        options["kernel_shape"],
        options["strides"],
        options["pads"][:2],
        count_include_pad=False,
    )


def _max_pool(x: Tensor, **options: Any) -> Tensor:
    return functional.max_pool2d(
        x, options["kernel_shape"], options["strides"], options["pads"][:2]
    )


def _reduce_mean(x: Tensor, axes: list[int], keepdims: int) -> Tensor:
    return x.mean(dim=axes, keepdim=bool(keepdims))


def _concat(*parts: Tensor, axis: int) -> Tensor:
    return torch.cat(parts, dim=axis)


def _flatten(x: Tensor, axis: int) -> Tensor:
    return x.flatten(axis)


def _transpose(x: Tensor, perm: list[int]) -> Tensor:
    return x.permute(perm)


def _reshape(x: Tensor, shape: list[int]) -> Tensor:
    return x.reshape(shape)


OPERATORS: Mapping[str, Operator] = {
    "Abs": torch.abs,
    "Add": torch.add,
    "AveragePool": _average_pool,
    "Cast": lambda x, to: x.float(),
    "Clip": torch.clamp,
    "Concat": _concat,
    "Conv": _conv,
    "Div": torch.div,
    "Flatten": _flatten,
    "Identity": lambda x: x,
    "MatMul": torch.matmul,
    "MaxPool": _max_pool,
    "Mul": torch.mul,
    "ReduceMean": _reduce_mean,
    "Relu": torch.relu,
    "Reshape": _reshape,
    "Sqrt": torch.sqrt,
    "Sub": torch.sub,
    "Transpose": _transpose,
}
