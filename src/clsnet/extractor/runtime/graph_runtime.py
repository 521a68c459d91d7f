"""The best way at hand to run a network that is a graph."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from hashlib import blake2b
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from clsnet.arrays.devices import CPU, Array, Device, device_of
from clsnet.errors import ClsnetError
from clsnet.extractor.graph import Graph
from clsnet.extractor.runtime.onnx_runtime import InONNXRuntime
from clsnet.extractor.runtime.openvino import InOpenVINO

RunArray = Callable[[Array], Array]
Write = Callable[[Graph, str], str]


class GraphRuntime:
    """A frozen network that is compiled when its first image comes.

    Images in NumPy, an array or anything that yields them, are answered by OpenVINO, or else by
    ONNX Runtime or torch; those on a GPU by torch. Copies share what is compiled, and pickles leave
    it out.

    Parameters
    ----------
    write
        Writes the network into a graph, from normalised images to one row of features each.
    size
        Side length of the images.
    before
        Writes what comes before the network, from images as bytes to normalised ones.
    """

    def __init__(self, write: Write, size: int, before: Write | None = None) -> None:
        self.write = write
        self.size = size
        self.before = before
        self._runs: dict[Device, RunArray] = {}
        self._lock = threading.Lock()

    def __call__(self, x: Array) -> Array:
        """Run the network where the images are."""
        device = device_of(x)
        with self._lock:
            if device not in self._runs:
                self._runs[device] = _compiled(self.graph(), device)
        return self._runs[device](x)

    def graph(self) -> Graph:
        """Return the network as a graph for one image."""
        graph = Graph()
        dtype = np.uint8 if self.before else np.float32
        images = graph.input("images", dtype, (1, 3, self.size, self.size))
        normalised = self.before(graph, images) if self.before else images
        graph.output("features", self.write(graph, normalised))
        return graph

    def after(self, before: Write) -> GraphRuntime:
        """Return the network for images as bytes, which `before` normalises."""
        return GraphRuntime(self.write, self.size, before)

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphRuntime:
        return self

    def __reduce__(self) -> tuple[type[GraphRuntime], tuple[Any, ...]]:
        return GraphRuntime, (self.write, self.size, self.before)


def _compiled(graph: Graph, device: Device) -> RunArray:
    if device != CPU:
        return _in_torch(graph, device)
    reasons = []
    for compiled in (_in_openvino, _in_onnx_runtime, _in_torch):
        try:
            return compiled(graph)
        except Exception as error:  # it is not installed, or cannot run here
            reasons.append(str(error).strip().partition("\n")[0])
    raise ClsnetError(f"a network needs openvino: pip install 'clsnet[vision]' ({reasons[0]})")


# A model that is read again and again in one process shares its network with the one before.
_SHARED: WeakValueDictionary[bytes, InOpenVINO] = WeakValueDictionary()
_SHARING = threading.Lock()
if hasattr(os, "register_at_fork"):  # threads of a compiled network do not live on in a child
    os.register_at_fork(after_in_child=_SHARED.clear)


def _in_openvino(graph: Graph) -> RunArray:
    data = graph.serialised()
    key = blake2b(data).digest()
    with _SHARING:
        found = _SHARED.get(key)
        if found is None:
            _SHARED[key] = found = InOpenVINO(data)
    return found


def _in_onnx_runtime(graph: Graph) -> RunArray:
    return InONNXRuntime(graph.serialised())


def _in_torch(graph: Graph, device: Device = CPU) -> RunArray:
    from clsnet.extractor.runtime.torch_graph import InTorch

    return InTorch(graph, device)
