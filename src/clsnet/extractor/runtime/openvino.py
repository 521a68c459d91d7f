"""Networks in OpenVINO, on a CPU."""

from __future__ import annotations

import importlib
import sys
import threading
from collections import deque
from collections.abc import Iterable
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from clsnet.extractor.runtime.threads import n_threads

# OpenVINO sets itself up in its first run, and hangs if two threads begin that at once.
_FIRST = threading.Lock()


REPORTS = "openvino_telemetry"
Running = tuple[Any, np.ndarray]  # a request and its image, which has to stay in memory


def import_openvino() -> Any:
    """Import OpenVINO, but not what would tell a server of each import.

    That package is optional to OpenVINO. It forks a process, and where the network drops what is
    sent, the program's end waits for it.
    """
    if "openvino" in sys.modules or REPORTS in sys.modules:
        return importlib.import_module("openvino")
    modules: dict[str, Any] = sys.modules
    modules[REPORTS] = None  # to import it is an ImportError then
    try:
        return importlib.import_module("openvino")
    finally:
        del modules[REPORTS]


class InOpenVINO:
    """A network that answers one image at a time, one image per core.

    An image's features are then the same to the last bit, whatever the batch that it comes in.
    Several threads may ask at once, and share the cores.

    Parameters
    ----------
    model
        The contents of an ONNX file, or an ``openvino.Model``, for one image.
    """

    def __init__(self, model: Any) -> None:
        openvino = import_openvino()
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
        self._tensor = openvino.Tensor
        self._width = compiled.output(0).shape[1]
        self._free: SimpleQueue[Any] = SimpleQueue()
        for _ in range(2 * threads):
            self._free.put(compiled.create_infer_request())
        with _FIRST:
            image = compiled.input(0)
            self(np.zeros(tuple(image.shape), image.get_element_type().to_dtype()))

    def __call__(self, images: Iterable[np.ndarray]) -> np.ndarray:
        """Run the network; while it answers some images, the next may be made."""
        running: deque[Running] = deque()
        rows: list[np.ndarray] = []
        try:
            for image in images:
                x = np.ascontiguousarray(image)[None]
                rows.append(np.empty((1, self._width), dtype=np.float32))
                request = self._request(running)
                running.append((request, x))
                request.set_input_tensor(self._tensor(x, shared_memory=True))
                request.set_output_tensor(self._tensor(rows[-1], shared_memory=True))
                request.start_async()
        finally:
            self._finish_all(running)
        return np.concatenate([np.empty((0, self._width), dtype=np.float32), *rows])

    def _request(self, running: deque[Running]) -> Any:
        """Return a request that is free, if need be after an image of ours is done."""
        while True:
            try:
                return self._free.get(block=not running)
            except Empty:
                self._finish(running)

    def _finish(self, running: deque[Running]) -> None:
        """Wait for the image that was begun first."""
        request, _ = running[0]
        try:
            request.wait()
        except Exception:
            self._free.put(running.popleft()[0])
            raise
        self._free.put(running.popleft()[0])

    def _finish_all(self, running: deque[Running]) -> None:
        """Wait for all images, also after Ctrl-C: OpenVINO still writes to their memory."""
        try:
            while running:
                self._finish(running)
        except BaseException:
            self._finish_all(running)
            raise
