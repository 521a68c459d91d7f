import copy
import pickle
import subprocess
import sys
import threading

import pytest
import torch
from torch import nn

from clsnet.extractor.runtime.torch_module import PATIENCE, Runtime, fastest, in_pytorch

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
X = torch.randn(9, 3, 20, 20)


@pytest.fixture(scope="module", autouse=True)
def two_threads():
    """So that images are answered side by side."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


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


def test_fastest_answers_like_the_network():
    run = fastest(NETWORK, X[:1])
    torch.testing.assert_close(run(X), NETWORK(X), rtol=1e-4, atol=1e-5)


def test_answer_to_an_image_is_the_same_to_the_bit_in_every_batch():
    pytest.importorskip("openvino")
    run = fastest(NETWORK, X[:1])
    whole = run(X)
    for rows in (slice(0, 1), slice(3, 4), slice(2, 9)):
        assert torch.equal(run(X[rows]), whole[rows])


def test_images_may_lie_in_any_layout():
    run = fastest(NETWORK, X[:1])
    for x in (X.to(memory_format=torch.channels_last), X.flip(-1).flip(-1), X[::2]):
        torch.testing.assert_close(run(x), NETWORK(x), rtol=1e-4, atol=1e-5)


def test_no_image_has_no_answer():
    assert fastest(NETWORK, X[:1])(X[:0]).shape == (0, 32)
    assert in_pytorch(NETWORK, X[:0]).shape == (0, 32)


@pytest.mark.parametrize("converted", [refuse, lambda y: 2 * y, lambda y: y + 1e-2])
def test_network_that_cannot_be_converted_faithfully_stays_in_pytorch(converted):
    network = Fickle(converted)
    assert torch.equal(fastest(network, X[:1])(X), X.flatten(1))


def test_pytorch_does_where_there_is_no_openvino(monkeypatch):
    monkeypatch.setitem(sys.modules, "openvino", None)
    torch.testing.assert_close(fastest(NETWORK, X[:1])(X), NETWORK(X), rtol=1e-5, atol=1e-6)


def test_conversion_works_within_inference_mode():
    with torch.inference_mode():
        x = X.clone()
        run = fastest(NETWORK, x[:1])
        torch.testing.assert_close(run(x), NETWORK(x), rtol=1e-4, atol=1e-5)


def test_answers_are_not_mixed_up_between_threads():
    run = fastest(NETWORK, X[:1])
    batches = [torch.randn(20, 3, 20, 20) for _ in range(6)]
    answers = {}
    threads = [
        threading.Thread(target=lambda i=i: answers.update({i: run(batches[i])})) for i in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, batch in enumerate(batches):
        torch.testing.assert_close(answers[i], NETWORK(batch), rtol=1e-4, atol=1e-5)


def test_first_images_do_not_wait_for_a_conversion():
    code = f"""
import sys, torch
from torch import nn
from clsnet.extractor.runtime.torch_module import Runtime
run = Runtime(nn.Sequential(nn.Conv2d(3, 2, 3), nn.Flatten()))
for _ in range({PATIENCE - 1}):
    run(torch.zeros(1, 3, 4, 4))
assert "openvino" not in sys.modules
run(torch.zeros(1, 3, 4, 4))
print("openvino" in sys.modules)
"""
    pytest.importorskip("openvino")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr


def test_copies_share_the_network_and_pickles_hold_it():
    runtime = Runtime(NETWORK)
    expected = runtime(X.repeat(PATIENCE, 1, 1, 1))[:9]
    assert copy.deepcopy(runtime) is runtime
    again = pickle.loads(pickle.dumps(runtime))
    torch.testing.assert_close(again(X), expected, rtol=1e-4, atol=1e-5)


def test_moving_makes_another_network_only_if_something_moves():
    runtime = Runtime(NETWORK)
    assert runtime.moved(lambda tensor: tensor) is runtime
    moved = runtime.moved(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)
    assert next(moved.network.parameters()).dtype == torch.float64
    assert next(runtime.network.parameters()).dtype == torch.float32


def test_once_settled_every_image_is_treated_alike():
    pytest.importorskip("openvino")
    first, second = Runtime(NETWORK), Runtime(NETWORK)
    first.settle()
    second(X.repeat(PATIENCE, 1, 1, 1))
    assert torch.equal(first(X), second(X))
