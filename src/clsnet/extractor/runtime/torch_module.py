"""The fastest way at hand to run a frozen network."""

from __future__ import annotations

import copy
import importlib
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from clsnet.extractor.runtime.split_convolutions import on_tensor_cores

Run = Callable[[Tensor], Tensor]

PATIENCE = 64
ROWS = 4
GPU_ROWS = 256
TOLERANCE = 1e-4


class Runtime:
    """A frozen network that is converted once it has enough to do.

    Converting takes about two seconds, as much as PyTorch needs for a hundred photographs, so the
    first few images do not wait for it. They may differ in the sixth digit from the same images
    later on; `settle` rules that out. Copies share the network: nothing changes it.

    Parameters
    ----------
    network
        From images to one row of features each.
    """

    def __init__(self, network: nn.Module) -> None:
        self.network = network.eval().requires_grad_(False)
        self._rows = 0
        self._run: Run | None = None

    def __call__(self, x: Tensor) -> Tensor:
        """Run the network."""
        self._rows += len(x)
        if self._run is None and self._rows >= PATIENCE:
            self._run = fastest(self.network, x[:1])
        return self._run(x) if self._run else in_pytorch(self.network, x)

    def settle(self) -> None:
        """Wait no longer: the next image is the first of the converted network."""
        self._rows = max(self._rows, PATIENCE)

    def moved(self, move: Run) -> Runtime:
        """Return one whose tensors went through `move`; this one stays where it is."""
        first = next(self.network.parameters())
        if move(first) is first:
            return self
        network = copy.deepcopy(self.network)
        return Runtime(network._apply(move))  # type: ignore[no-untyped-call]

    def __deepcopy__(self, memo: dict[int, Any]) -> Runtime:
        return self

    def __reduce__(self) -> tuple[type[Runtime], tuple[nn.Module]]:
        return Runtime, (self.network,)


def fastest(network: nn.Module, example: Tensor) -> Run:
    """Return the fastest function that answers like a frozen network.

    That is OpenVINO on a CPU, where it is installed and can convert the network, else PyTorch.

    Parameters
    ----------
    network
        From images to one row of features each.
    example
        One image, (1, 3, size, size), where the network is.

    Examples
    --------
    >>> network = nn.Sequential(nn.Conv2d(3, 2, 3), nn.Flatten()).requires_grad_(False)
    >>> run = fastest(network, torch.ones(1, 3, 4, 4))
    >>> run(torch.ones(5, 3, 4, 4)).shape
    torch.Size([5, 8])
    """
    if example.device.type == "cpu":
        try:
            return _in_openvino(network, example)
        except Exception:  # whatever went wrong, PyTorch can do it
            pass
    return lambda x: in_pytorch(network, x)


def in_pytorch(network: nn.Module, x: Tensor) -> Tensor:
    """Run a network in float32, in parts: few images fit into a CPU's caches, more into a GPU."""
    rows = ROWS if x.device.type == "cpu" else GPU_ROWS
    x = x.contiguous(memory_format=torch.channels_last)
    exactly = torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
    with exactly, on_tensor_cores(x.device):
        return torch.cat([network(part) for part in torch.split(x, rows)])


def _in_openvino(network: nn.Module, example: Tensor) -> Run:
    """Convert a network for one image at a time, one image per core.

    An image's features are then the same to the last bit, whatever the batch that it comes in.
    """
    openvino = importlib.import_module("openvino")
    frontend = importlib.import_module("openvino.frontend").FrontEndManager()
    frontend = frontend.load_by_framework("pytorch")
    pytorch = importlib.import_module("openvino.frontend.pytorch.ts_decoder")
    with torch.inference_mode(False), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        example = example.clone(memory_format=torch.contiguous_format)
        expected = network(example)
        traced = pytorch.TorchScriptPythonDecoder(
            network, example_input=example, trace_kwargs={"check_trace": False}
        )
        model = frontend.convert(frontend.load(traced))
    model.reshape(list(example.shape))
    threads = torch.get_num_threads()
    options = {
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": threads,
    }
    compiled = openvino.Core().compile_model(model, "CPU", options)
    queue = openvino.AsyncInferQueue(compiled, 2 * threads)
    queue.set_callback(_keep)
    lock = threading.Lock()

    def run(x: Tensor) -> Tensor:
        out = np.empty((len(x), expected.shape[1]), dtype=np.float32)
        images = x.contiguous().numpy()
        with lock:
            for i in range(len(x)):
                queue.start_async([images[i : i + 1]], out[i : i + 1], share_inputs=True)
            queue.wait_all()
        return torch.from_numpy(out)

    if (run(example) - expected).norm() > TOLERANCE * expected.norm():
        raise ArithmeticError("the converted network answers otherwise")
    return run


def _keep(request: Any, out: np.ndarray) -> None:
    out[:] = request.get_output_tensor().data
