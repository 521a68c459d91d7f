"""Networks that are modules of torch."""

from __future__ import annotations

import copy
import functools
import importlib
import logging
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, Self

import numpy as np
import torch
from torch import Tensor, nn

from clsnet.arrays.devices import CPU, Array, Device, device_of, to_numpy
from clsnet.errors import ClsnetError
from clsnet.extractor.graph import OPSET, Graph
from clsnet.extractor.runtime.openvino import InOpenVINO, import_openvino
from clsnet.extractor.runtime.split_convolutions import in_numpy, in_parts
from clsnet.extras import needed

TOLERANCE = 1e-4


class Outputs(Protocol):
    """What is asked of a network: outputs at several depths, or the last one."""

    def maps(self, network: Any, x: Any) -> list[Any]:
        """Return outputs (n, channels, h, w), or (n, channels), from shallow to deep."""

    def last(self, network: Any, x: Any) -> Any:
        """Return the pooled output of the last layer before the head."""


class TappedModule(nn.Module):
    """A module that answers with its pooled outputs at several depths.

    The mean and the quadratic mean of every map over the image are taken. Of the last layer alone
    it is the mean.

    Parameters
    ----------
    network
        The module.
    outputs
        What is asked of it.
    taps
        ``"several"`` depths, ``"many"``: the same at two scales, or the ``"last"`` layer before
        the head.
    """

    nodes: Mapping[int, Any]

    def __init__(self, network: nn.Module, outputs: Outputs, taps: str) -> None:
        super().__init__()
        self.network = network
        self.outputs = outputs
        self.taps = taps
        self.nodes = {}
        self.eval().requires_grad_(False)

    @property
    def state(self) -> dict[str, np.ndarray]:
        """The weights by name."""
        return {name: to_numpy(value) for name, value in self.network.state_dict().items()}

    def forward(self, x: Tensor) -> Tensor:
        """Return one row of pooled outputs per image."""
        if self.taps == "last":
            last: Tensor = self.outputs.last(self.network, x)
            return last
        parts = []
        for part in self.outputs.maps(self.network, x):
            if part.ndim == 2:
                parts.append(part)
            else:
                parts += [part.mean(dim=(2, 3)), part.square().mean(dim=(2, 3)).sqrt()]
        return torch.cat(parts, dim=1)

    def runtime(self, size: int) -> ModuleRuntime:
        """Return what runs the network on images of that size."""
        return ModuleRuntime(self, size)

    def write(self, graph: Graph, images: str, size: int) -> str:
        """Write the network into a graph, by the exporter of torch."""
        needed("onnxscript", "export", "hub")
        example = torch.zeros(2, 3, size, size)
        try:
            with _quiet():
                program: Any = torch.onnx.export(
                    self,
                    (example,),
                    dynamo=True,
                    verbose=False,
                    opset_version=OPSET,
                    dynamic_shapes=({0: torch.export.Dim("n")},),
                )
            return graph.include(program.model_proto, images)
        except Exception as error:
            reason = str(error).strip().partition("\n")[0]
            raise ClsnetError(f"the network cannot be exported: {reason}") from None

    def without_cells(self) -> Self:
        """Return the network itself, which has no means over cells."""
        return self


class ModuleRuntime:
    """A frozen module that is converted for a CPU when its first image comes.

    OpenVINO answers images in NumPy, if it is installed and can convert the module, else torch
    does. Copies share what is converted, and pickles leave it out.

    Parameters
    ----------
    network
        From images to one row of features each.
    size
        Side length of the images.
    """

    def __init__(self, network: nn.Module, size: int) -> None:
        self.network = network
        self.size = size
        self._runs: dict[Device, Callable[[Array], Array]] = {}
        self._lock = threading.Lock()

    def __call__(self, x: Array) -> Array:
        """Run the network where the images are."""
        device = device_of(x)
        with self._lock:
            if device not in self._runs:
                self._runs[device] = (
                    fastest(self.network, self.size)
                    if device == CPU
                    else _moved(self.network, device)
                )
        return self._runs[device](x)

    def __deepcopy__(self, memo: dict[int, Any]) -> ModuleRuntime:
        return self

    def __reduce__(self) -> tuple[type[ModuleRuntime], tuple[nn.Module, int]]:
        return ModuleRuntime, (self.network, self.size)


def as_tensors(state: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """Return weights as torch takes them."""
    return {name: torch.from_numpy(np.array(value)) for name, value in state.items()}


def fastest(network: nn.Module, size: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return the fastest function that answers like a frozen network, on a CPU.

    Parameters
    ----------
    network
        From images to one row of features each.
    size
        Side length of the images.

    Examples
    --------
    >>> network = nn.Sequential(nn.Conv2d(3, 2, 3), nn.Flatten()).requires_grad_(False)
    >>> run = fastest(network, size=4)
    >>> run(np.ones((5, 3, 4, 4), dtype=np.float32)).shape
    (5, 8)
    """
    try:
        return _in_openvino(network, size)
    except Exception:  # whatever went wrong, torch can do it
        return functools.partial(in_numpy, network)


def _moved(network: nn.Module, device: Device) -> Callable[[Tensor], Tensor]:
    moved = copy.deepcopy(network).to(device)
    return lambda x: in_parts(moved, x)


def _in_openvino(network: nn.Module, size: int) -> InOpenVINO:
    """Convert a module, and make sure that it answers an image of noise as before."""
    noise = np.random.RandomState(0).standard_normal((1, 3, size, size))
    example = noise.astype(np.float32)
    frontend = import_openvino().frontend.FrontEndManager()
    frontend = frontend.load_by_framework("pytorch")
    pytorch = importlib.import_module("openvino.frontend.pytorch.ts_decoder")
    with torch.inference_mode(False), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = torch.from_numpy(example)
        expected = network(x).numpy()
        traced = pytorch.TorchScriptPythonDecoder(
            network, example_input=x, trace_kwargs={"check_trace": False}
        )
        model = frontend.convert(frontend.load(traced))
    model.reshape(list(example.shape))
    run = InOpenVINO(model)
    difference = np.linalg.norm(run(example) - expected)
    if not difference <= TOLERANCE * np.linalg.norm(expected):
        raise ArithmeticError("the converted network answers otherwise")
    return run


@contextmanager
def _quiet() -> Iterator[None]:
    """Let the exporter write nothing to the terminal."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
