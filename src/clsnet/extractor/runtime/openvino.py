"""Networks in OpenVINO, on a CPU."""

from __future__ import annotations

import importlib
import threading
from typing import Any

import numpy as np

from clsnet.extractor.runtime.threads import n_threads


class InOpenVINO:
    """A network that answers one image at a time, one image per core.

    An image's features are then the same to the last bit, whatever the batch that it comes in.

    Parameters
    ----------
    model
        The contents of an ONNX file, or an ``openvino.Model``, for one image.
    """

    def __init__(self, model: Any) -> None:
        openvino = importlib.import_module("openvino")
        threads = n_threads()
        core = openvino.Core()
        if isinstance(model, bytes):
            model = core.read_model(model)
        options = {
            "INFERENCE_PRECISION_HINT": "f32",
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": threads,
        }
        compiled = core.compile_model(model, "CPU", options)
        self._width = compiled.output(0).shape[1]
        self._queue = openvino.AsyncInferQueue(compiled, 2 * threads)
        self._queue.set_callback(_keep)
        self._lock = threading.Lock()

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Run the network."""
        out = np.empty((len(x), self._width), dtype=np.float32)
        images = np.ascontiguousarray(x)
        with self._lock:
            for i in range(len(images)):
                self._queue.start_async([images[i : i + 1]], out[i : i + 1], share_inputs=True)
            self._queue.wait_all()
        return out


def _keep(request: Any, out: np.ndarray) -> None:
    out[:] = request.get_output_tensor().data
