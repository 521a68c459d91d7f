"""A computation as an ONNX graph: what runs, and what is exported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from clsnet.errors import ClsnetError
from clsnet.extractor import onnx_bytes
from clsnet.extractor.onnx_bytes import message, text, whole
from clsnet.extras import needed

OPSET = 18
IR_VERSION = 9  # what ONNX Runtime 1.16 and OpenVINO 2024 read
Shape = tuple[int | str | None, ...]


@dataclass(frozen=True)
class Node:
    """An operator of ONNX with the names of its inputs and outputs."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]


class Graph:
    """An ONNX graph under construction; values are known by their names.

    Attributes
    ----------
    nodes : list of Node
        In the order in which they can be computed.
    constants : dict
        Arrays by name.

    Examples
    --------
    >>> graph = Graph()
    >>> x = graph.input("x", np.float32, ("n", 2))
    >>> graph.output("y", graph.node("MatMul", x, graph.constant(np.eye(2, dtype=np.float32))))
    >>> len(graph.serialised()) > 0
    True
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.constants: dict[str, np.ndarray] = {}
        self._inputs: list[tuple[str, np.dtype[Any], Shape | None]] = []
        self._outputs: list[tuple[str, np.dtype[Any], Shape | None]] = []
        self._count = 0

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs."""
        return [name for name, _, _ in self._inputs]

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        return [name for name, _, _ in self._outputs]

    def input(self, name: str, dtype: Any, shape: Sequence[int | str]) -> str:
        """Declare an input; a dimension with a name may have any length."""
        self._inputs.append((name, np.dtype(dtype), tuple(shape)))
        return name

    def constant(self, value: Any) -> str:
        """Add an array."""
        name = self._new_name("c")
        self.constants[name] = np.asarray(value)
        return name

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output; an input that is left out is an empty string."""
        name = self._new_name("v")
        self.nodes.append(Node(operator, inputs, (name,), attributes))
        return name

    def output(
        self,
        name: str,
        value: str,
        dtype: Any = np.float32,
        shape: Sequence[int | str] | None = None,
    ) -> None:
        """Declare a value as an output of that name; ONNX wants its shape in a file."""
        self.nodes.append(Node("Identity", (value,), (name,), {}))
        self._outputs.append((name, np.dtype(dtype), None if shape is None else tuple(shape)))

    def include(self, model: Any, value: str) -> str:
        """Add all nodes of an ``onnx.ModelProto`` with one input and one output.

        Parameters
        ----------
        model
            The model; it has no functions of its own and opset 18.
        value
            What its input is.

        Returns
        -------
        str
            What its output is.
        """
        onnx = needed("onnx", "a network as a graph", "export")
        names = {"": "", model.graph.input[0].name: value}
        for tensor in model.graph.initializer:
            names[tensor.name] = self.constant(onnx.numpy_helper.to_array(tensor))
        for node in model.graph.node:
            attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            if node.domain or any(isinstance(a, onnx.GraphProto) for a in attributes.values()):
                raise ClsnetError(f"a graph cannot include the operator {node.op_type}.")
            inputs = tuple(names[name] for name in node.input)
            names |= {name: self._new_name("v") for name in node.output if name}
            outputs = tuple(names[name] for name in node.output)
            self.nodes.append(Node(node.op_type, inputs, outputs, attributes))
        return names[model.graph.output[0].name]

    def shape(self, value: str) -> Shape:
        """Return the shape of a value, with names or None for lengths that are not known."""
        onnx = needed("onnx", "a network as a graph", "export")
        for name, _, shape in self._inputs:
            if name == value and shape is not None:
                return shape
        inferred = onnx.shape_inference.infer_shapes(self.model())
        for info in inferred.graph.value_info:
            if info.name == value:
                return tuple(
                    d.dim_value if d.HasField("dim_value") else d.dim_param or None
                    for d in info.type.tensor_type.shape.dim
                )
        raise ClsnetError(f"the shape of {value} does not follow from the graph.")

    def model(self, metadata: Mapping[str, str] | None = None) -> Any:
        """Return the whole as an ``onnx.ModelProto``."""
        onnx = needed("onnx", "a network as a graph", "export")
        return onnx.load_from_string(self.serialised(metadata))

    def serialised(self, metadata: Mapping[str, str] | None = None) -> bytes:
        """Return the whole as the contents of an ONNX file."""
        nodes = (
            onnx_bytes.node(node.operator, node.inputs, node.outputs, node.attributes)
            for node in self.nodes
        )
        constants = (onnx_bytes.tensor(name, value) for name, value in self.constants.items())
        graph = message(
            7,
            *(message(1, fields) for fields in nodes),
            text(2, "clsnet"),
            *(message(5, fields) for fields in constants),
            *(message(11, onnx_bytes.value_info(*each)) for each in self._inputs),
            *(message(12, onnx_bytes.value_info(*each)) for each in self._outputs),
        )
        opset = message(8, text(1, ""), whole(2, OPSET))
        about = (message(14, text(1, k), text(2, v)) for k, v in (metadata or {}).items())
        return b"".join(chain(whole(1, IR_VERSION), graph, opset, *about))

    def _new_name(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"
