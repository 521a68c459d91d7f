"""Networks in ONNX Runtime, on a CPU without OpenVINO."""

from __future__ import annotations

import importlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from clsnet.extractor.runtime.threads import n_threads


class InONNXRuntime:
    """A network that answers one image at a time, one image per core.

    Parameters
    ----------
    model
        The contents of an ONNX file, for one image.
    """

    def __init__(self, model: bytes) -> None:
        onnxruntime = importlib.import_module("onnxruntime")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        self._session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        self._input = self._session.get_inputs()[0].name
        self._width = self._session.get_outputs()[0].shape[1]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Run the network."""
        out = np.empty((len(x), self._width), dtype=np.float32)

        def run(i: int) -> None:
            [out[i : i + 1]] = self._session.run(None, {self._input: images[i : i + 1]})

        images = np.ascontiguousarray(x)
        with ThreadPoolExecutor(n_threads()) as threads:
            list(threads.map(run, range(len(x))))
        return out
