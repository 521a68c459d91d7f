from collections.abc import Callable

import numpy as np
import pytest


@pytest.fixture
def run_graph() -> Callable[..., np.ndarray]:
    """Runs what a part of the extractor writes into an ONNX graph, in ONNX Runtime."""
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")

    def run(write_graph: Callable[..., str], X: np.ndarray) -> np.ndarray:
        from clsnet.extractor.graph import Graph

        graph = Graph()
        x = graph.input("x", X.dtype, ("n", *X.shape[1:]))
        graph.output("y", write_graph(graph, x))
        providers = ["CPUExecutionProvider"]
        session = onnxruntime.InferenceSession(graph.serialised(), providers=providers)
        together = session.run(["y"], {"x": X})[0]
        alone = np.concatenate([session.run(["y"], {"x": x[None]})[0] for x in X])
        np.testing.assert_allclose(together, alone, atol=1e-5)
        assert together.dtype == np.float32
        return together

    return run
