"""Networks in ONNX Runtime, on a CPU without OpenVINO."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from clsnet.extractor.runtime.threads import n_threads


def import_onnxruntime() -> Any:
    """Import ONNX Runtime without its telemetry, which would send reports to a server.

    It only looks at the environment while it is imported.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    return importlib.import_module("onnxruntime")


class InONNXRuntime:
    """A network that answers one image at a time, one image per core.

    Parameters
    ----------
    model
        The contents of an ONNX file, for one image.
    """

    def __init__(self, model: bytes) -> None:
        onnxruntime = import_onnxruntime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        self._session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        self._input = self._session.get_inputs()[0].name
        self._width = self._session.get_outputs()[0].shape[1]

    def __call__(self, images: Iterable[np.ndarray]) -> np.ndarray:
        """Run the network; while it answers some images, the next may be made."""

        def run(image: np.ndarray) -> np.ndarray:
            [row] = self._session.run(None, {self._input: np.ascontiguousarray(image)[None]})
            return np.asarray(row)

        with ThreadPoolExecutor(n_threads()) as threads:
            rows = list(threads.map(run, images))
        return np.concatenate([np.empty((0, self._width), dtype=np.float32), *rows])
