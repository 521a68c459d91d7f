import copy
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from clsnet.errors import ClsnetError
from clsnet.extractor.graph import Graph
from clsnet.extractor.runtime import graph_runtime
from clsnet.extractor.runtime.graph_runtime import GraphRuntime
from clsnet.extractor.runtime.onnx_runtime import InONNXRuntime
from clsnet.extractor.runtime.openvino import InOpenVINO
from clsnet.extractor.runtime.threads import n_threads

SIZE = 20
X = np.random.RandomState(0).standard_normal((9, 3, SIZE, SIZE)).astype(np.float32)
RUNTIMES = ("openvino", "onnxruntime", "torch")


def drawn(*shape):
    return np.random.RandomState(sum(shape)).standard_normal(shape).astype(np.float32)


class Every:
    """Writes a small network of every operator that our networks use."""

    def __call__(self, graph: Graph, x: str) -> str:
        x = graph.node(
            "Conv", x, graph.constant(drawn(8, 3, 3, 3)), graph.constant(drawn(8)),
            kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1], group=1,
        )  # fmt: skip
        limits = (graph.constant(np.float32(limit)) for limit in (0, 6))
        x = graph.node("Clip", x, *limits)
        y = graph.node(
            "Conv", x, graph.constant(drawn(8, 1, 3, 3)), graph.constant(drawn(8)),
            kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1], group=8,
        )  # fmt: skip
        x = graph.node("Relu", graph.node("Add", x, y))
        x = graph.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
        mean = graph.node("ReduceMean", x, graph.constant([1]), keepdims=1)
        y = graph.node("Div", graph.node("Sub", x, mean), graph.constant(np.float32(2)))
        square = graph.node(
            "ReduceMean", graph.node("Mul", y, y), graph.constant([2, 3]), keepdims=0
        )
        cells = graph.node(
            "AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[0] * 4, count_include_pad=0
        )
        parts = [graph.node("Sqrt", square), graph.node("Flatten", cells, axis=1)]
        return graph.node("Concat", *parts, axis=1)


WIDTH = 8 + 8 * 4


@pytest.fixture
def only(monkeypatch):
    """Make one runtime the only one that is installed."""

    def hide(kept):
        pytest.importorskip(kept)
        for name in {"openvino", "onnxruntime"} - {kept}:
            monkeypatch.setitem(sys.modules, name, None)
        if kept != "torch":
            monkeypatch.setitem(sys.modules, "clsnet.extractor.runtime.torch_graph", None)

    return hide


@pytest.fixture
def two_threads(monkeypatch):
    """So that images are answered side by side."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")


@pytest.fixture(scope="module")
def expected():
    """What the definition of the operators says."""
    reference = pytest.importorskip("onnx.reference")
    run = reference.ReferenceEvaluator(GraphRuntime(Every(), SIZE).graph().model())
    return np.concatenate([run.run(None, {"images": x[None]})[0] for x in X])


@pytest.mark.parametrize("name", RUNTIMES)
def test_runtimes_agree_with_the_definition(expected, only, name):
    only(name)
    answer = GraphRuntime(Every(), SIZE)(X)
    assert answer.dtype == np.float32 and answer.shape == (9, WIDTH)
    np.testing.assert_allclose(answer, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", RUNTIMES)
def test_answer_to_an_image_is_the_same_to_the_bit_in_every_batch(only, two_threads, name):
    only(name)
    run = GraphRuntime(Every(), SIZE)
    whole = run(X)
    for rows in (slice(0, 1), slice(3, 4), slice(2, 9), slice(0, 0)):
        np.testing.assert_array_equal(run(X[rows]), whole[rows])


@pytest.mark.parametrize("name", RUNTIMES)
def test_images_may_lie_in_any_layout(only, name):
    only(name)
    run = GraphRuntime(Every(), SIZE)
    whole = run(X)
    by_pixel = np.ascontiguousarray(X.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(run(by_pixel), whole)
    np.testing.assert_array_equal(run(X[::2]), whole[::2])
    np.testing.assert_array_equal(run(X[..., ::-1].copy()[..., ::-1]), whole)


@pytest.mark.parametrize("name", RUNTIMES)
def test_images_may_be_made_while_others_are_answered(only, two_threads, name):
    only(name)
    run = GraphRuntime(Every(), SIZE)
    np.testing.assert_array_equal(run(image.copy() for image in X), run(X))


@pytest.mark.parametrize("name", RUNTIMES)
def test_an_image_that_cannot_be_made_stops_the_others(only, two_threads, name):
    only(name)
    run = GraphRuntime(Every(), SIZE)
    whole = run(X)

    def broken():
        yield from X
        raise ArithmeticError("made of nothing")

    with pytest.raises(ArithmeticError, match="made of nothing"):
        run(broken())
    np.testing.assert_array_equal(run(X), whole)


def test_an_interrupt_waits_for_what_runs(two_threads, monkeypatch):
    run = InOpenVINO(GraphRuntime(Every(), SIZE).graph().serialised())
    finish, interrupts = run._finish, [KeyboardInterrupt] * 3

    def interrupted(running):
        if interrupts:
            raise interrupts.pop()
        finish(running)

    monkeypatch.setattr(run, "_finish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(X)
    assert run._free.qsize() == 2 * n_threads()


def test_tensors_are_answered_by_torch_where_they_are(expected, monkeypatch):
    torch = pytest.importorskip("torch")
    run = GraphRuntime(Every(), SIZE)
    monkeypatch.setattr(graph_runtime, "InOpenVINO", None)
    answer = run(torch.from_numpy(X))
    assert isinstance(answer, torch.Tensor)
    np.testing.assert_allclose(answer.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_openvino_comes_first_then_onnx_runtime(monkeypatch):
    pytest.importorskip("openvino")
    pytest.importorskip("onnxruntime")
    graph = GraphRuntime(Every(), SIZE).graph()
    assert isinstance(graph_runtime._compiled(graph, "cpu"), InOpenVINO)
    monkeypatch.setitem(sys.modules, "openvino", None)
    assert isinstance(graph_runtime._compiled(graph, "cpu"), InONNXRuntime)


def test_onnx_runtime_reports_to_nobody(tmp_path):
    pytest.importorskip("onnxruntime")
    code = """
from clsnet.extractor.runtime.onnx_runtime import import_onnxruntime
print(import_onnxruntime().get_available_providers())
"""
    environment = {name: v for name, v in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "CPUExecutionProvider" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_no_runtime_names_the_extra(only):
    pytest.importorskip("onnx")
    only("onnx")
    with pytest.raises(ClsnetError, match=r"a network needs openvino: pip install 'clsnet\[vision"):
        GraphRuntime(Every(), SIZE)(X)


def test_answers_are_not_mixed_up_between_threads(two_threads):
    run = GraphRuntime(Every(), SIZE)
    batches = [drawn(20 + i, 3, SIZE, SIZE) for i in range(6)]
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(run, batches))
    for answer, batch in zip(answers, batches, strict=True):
        np.testing.assert_array_equal(answer, run(batch))


def test_copies_share_what_is_compiled_and_pickles_leave_it_out():
    runtime = GraphRuntime(Every(), SIZE)
    answer = runtime(X)
    assert copy.deepcopy(runtime) is runtime
    pickled = pickle.dumps(runtime)
    assert len(pickled) < 1000
    np.testing.assert_array_equal(pickle.loads(pickled)(X), answer)


@pytest.mark.parametrize("told, number", [("3", 3), (" 2 ", 2), ("4,2", 4)])
def test_the_environment_says_how_many_threads_there_are(monkeypatch, told, number):
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    assert n_threads() == number


@pytest.mark.parametrize("told", ["", "0", "-1", "many"])
def test_what_is_no_number_of_threads_is_ignored(monkeypatch, told):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    usual = n_threads()
    assert usual >= 1
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    assert n_threads() == usual
