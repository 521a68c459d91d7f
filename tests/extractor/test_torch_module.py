import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

from clsnet.errors import ClsnetError
from clsnet.extractor.graph import Graph
from clsnet.extractor.runtime.openvino import InOpenVINO
from clsnet.extractor.runtime.split_convolutions import in_parts
from clsnet.extractor.runtime.torch_module import (
    ModuleRuntime,
    TappedModule,
    fastest,
)

torch.manual_seed(0)
NETWORK = (
    nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2),
        nn.BatchNorm2d(8),
        nn.ReLU6(),
        nn.Conv2d(8, 8, 3, groups=8),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
    )
    .eval()
    .requires_grad_(False)
)
SIZE = 20
X = np.random.RandomState(0).standard_normal((9, 3, SIZE, SIZE)).astype(np.float32)
EXPECTED = NETWORK(torch.from_numpy(X)).numpy()


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    """So that images are answered side by side."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")


class Fickle(nn.Module):
    """Answers otherwise, or not at all, when it is being converted."""

    def __init__(self, converted):
        super().__init__()
        self.converted = converted
        self.weight = nn.Parameter(torch.ones(()), requires_grad=False)

    def forward(self, x):
        y = self.weight * x.flatten(1)
        return self.converted(y) if torch.jit.is_tracing() else y


def refuse(y):
    raise NotImplementedError("this cannot be traced")


def close(answer, expected):
    np.testing.assert_allclose(answer, expected, rtol=1e-4, atol=1e-5)


def test_openvino_answers_like_the_network():
    pytest.importorskip("openvino")
    run = fastest(NETWORK, SIZE)
    assert isinstance(run, InOpenVINO)
    close(run(X), EXPECTED)


def test_answer_to_an_image_is_the_same_to_the_bit_in_every_batch(monkeypatch):
    for absent in (None, "openvino"):
        if absent:
            monkeypatch.setitem(sys.modules, absent, None)
            monkeypatch.setitem(sys.modules, "openvino.frontend", None)
        run = fastest(NETWORK, SIZE)
        whole = run(X)
        for rows in (slice(0, 1), slice(3, 4), slice(2, 9)):
            np.testing.assert_array_equal(run(X[rows]), whole[rows])


def test_images_may_lie_in_any_layout():
    run = fastest(NETWORK, SIZE)
    by_pixel = np.ascontiguousarray(X.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    close(run(by_pixel), EXPECTED)
    close(run(X[::2]), EXPECTED[::2])


def test_no_image_has_no_answer():
    assert fastest(NETWORK, SIZE)(X[:0]).shape == (0, 32)
    assert in_parts(NETWORK, torch.from_numpy(X[:0])).shape == (0, 32)


@pytest.mark.parametrize("converted", [refuse, lambda y: 2 * y, lambda y: y + 1e-2])
def test_network_that_cannot_be_converted_faithfully_stays_in_pytorch(converted):
    run = fastest(Fickle(converted), SIZE)
    np.testing.assert_array_equal(run(X), X.reshape(9, -1))


def test_pytorch_does_where_there_is_no_openvino(monkeypatch):
    for name in ("openvino", "openvino.frontend"):
        monkeypatch.setitem(sys.modules, name, None)
    run = fastest(NETWORK, SIZE)
    assert not isinstance(run, InOpenVINO)
    close(run(X), EXPECTED)


def test_conversion_works_within_inference_mode():
    with torch.inference_mode():
        close(fastest(NETWORK, SIZE)(X), EXPECTED)


def test_answers_are_not_mixed_up_between_threads():
    run = ModuleRuntime(NETWORK, SIZE)
    random = np.random.RandomState(1)
    batches = [random.standard_normal((20, 3, SIZE, SIZE)).astype(np.float32) for _ in range(6)]
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(run, batches))
    for answer, batch in zip(answers, batches, strict=True):
        close(answer, NETWORK(torch.from_numpy(batch)).numpy())


def test_copies_share_the_network_and_pickles_hold_it():
    runtime = ModuleRuntime(NETWORK, SIZE)
    expected = runtime(X)
    assert copy.deepcopy(runtime) is runtime
    close(pickle.loads(pickle.dumps(runtime))(X), expected)


def test_tensors_are_answered_by_another_network_where_they_are():
    runtime = ModuleRuntime(NETWORK, SIZE)
    answer = runtime(torch.from_numpy(X))
    assert isinstance(answer, torch.Tensor)
    close(answer.numpy(), EXPECTED)
    assert runtime.network is NETWORK


class Both:
    def maps(self, network, x):
        y = network[:4](x)
        return [y, y.mean(dim=(2, 3))]

    def last(self, network, x):
        return network(x)


def test_maps_are_pooled_to_both_means_and_vectors_are_left_as_they_are():
    answer = TappedModule(NETWORK, Both(), "several")(torch.from_numpy(X)).numpy()
    y = NETWORK[:4](torch.from_numpy(X)).double().numpy()
    mean = y.mean(axis=(2, 3))
    close(answer, np.concatenate([mean, np.sqrt((y**2).mean(axis=(2, 3))), mean], axis=1))
    close(TappedModule(NETWORK, Both(), "last")(torch.from_numpy(X)).numpy(), EXPECTED)


def test_module_is_written_into_a_graph():
    pytest.importorskip("onnxscript")
    onnxruntime = pytest.importorskip("onnxruntime")
    graph = Graph()
    x = graph.node("Neg", graph.input("x", np.float32, ("n", 3, SIZE, SIZE)))
    value = TappedModule(NETWORK, Both(), "several").write(graph, x, SIZE)
    graph.output("y", value)
    session = onnxruntime.InferenceSession(graph.serialised(), providers=["CPUExecutionProvider"])
    expected = TappedModule(NETWORK, Both(), "several")(torch.from_numpy(-X)).numpy()
    for rows in (slice(0, 1), slice(0, 9)):
        close(session.run(None, {"x": X[rows]})[0], expected[rows])


class Branching(Both):
    def last(self, network, x):
        return x.flatten(1) if x.sum() > 0 else -x.flatten(1)


def test_module_that_cannot_be_exported_says_so_in_one_line():
    pytest.importorskip("onnxscript")
    graph = Graph()
    x = graph.input("x", np.float32, ("n", 3, SIZE, SIZE))
    with pytest.raises(ClsnetError, match="the network cannot be exported: ") as refusal:
        TappedModule(NETWORK, Branching(), "last").write(graph, x, SIZE)
    assert "\n" not in str(refusal.value)
