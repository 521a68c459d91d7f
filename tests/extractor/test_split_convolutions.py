import pytest
import torch
from torch import nn
from torch.nn.functional import conv2d

from clsnet.extractor.runtime import split_convolutions as split
from clsnet.extractor.runtime.split_convolutions import (
    SplitConvolutions,
    halves,
    in_parts,
    on_tensor_cores,
)
from clsnet.methods.common.residual import Residual

GPU = torch.cuda.is_available()
HIDDEN = 1 << 23


def lowest_bit(x):
    """Which of the 24 significant bits is the last one set."""
    bits = x.view(torch.int32) | HIDDEN
    return torch.stack([(bits >> i) & 1 for i in range(24)]).argmax(dim=0)


@pytest.fixture
def numbers():
    x = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    return x * 10.0 ** torch.arange(-5, 5).repeat(100)


def test_halves_are_the_number_and_are_short(numbers):
    upper, lower = halves(numbers)
    assert torch.equal(upper + lower, numbers)
    assert bool((lowest_bit(upper) >= 13).all())
    assert bool((lower.abs() < numbers.abs() * 2**-10).all())


@pytest.mark.parametrize("size", [3, 1])
@pytest.mark.parametrize("stride", [1, 2])
def test_three_products_of_halves_are_the_convolution(size, stride):
    """What tensor cores compute: operands rounded to 11 bits, products and sums not."""
    random = torch.Generator().manual_seed(size)
    x = torch.randn(2, 16, 9, 9, generator=random)
    weight = torch.randn(8, 16, size, size, generator=random)
    expected = conv2d(x.double(), weight.double(), stride=stride)
    (a, b), (c, d) = halves(x), halves(weight)
    b, d = halves(b)[0], halves(d)[0]
    three = sum(conv2d(p.double(), q.double(), stride=stride) for p, q in ((a, c), (b, c), (a, d)))
    one = conv2d(a.double(), c.double(), stride=stride)
    assert (three - expected).norm() < 1e-6 * expected.norm()
    assert (one - expected).norm() > 1e-4 * expected.norm()
    computed = split.split_conv2d(x, weight, stride=stride)
    assert (computed - expected).norm() < 1e-6 * expected.norm()


@pytest.mark.parametrize(
    ("layer", "replaced"),
    [
        (nn.Conv2d(4, 6, 3, stride=2, padding=1), True),
        (nn.Conv2d(4, 6, (3, 1), padding="same", dilation=2, bias=False), True),
        (nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), True),
        (nn.Conv2d(4, 8, 3, groups=2), False),
        (nn.Conv2d(4, 6, 3).double(), False),
        (nn.Linear(8, 3), False),
    ],
)
def test_convolutions_of_float32_are_replaced_and_nothing_else(layer, replaced, monkeypatch):
    calls = []
    original = split.split_conv2d

    def counted(*args):
        calls.append(args)
        return original(*args)

    monkeypatch.setattr(split, "split_conv2d", counted)
    x = torch.randn(2, 4, 8, 8, dtype=layer.weight.dtype)
    expected = layer(x)
    with SplitConvolutions():
        torch.testing.assert_close(layer(x), expected, rtol=1e-4, atol=1e-5)
    assert len(calls) == replaced
    layer(x)
    assert len(calls) == replaced


def test_a_network_answers_the_same():
    network = Residual(18, small=True).eval()
    x = torch.rand(2, 3, 32, 32).contiguous(memory_format=torch.channels_last)
    with torch.no_grad():
        expected = network(x)
        with SplitConvolutions():
            answer = network(x)
    assert (answer - expected).norm() < 1e-5 * expected.norm()


def test_a_cpu_has_no_such_cores():
    assert not isinstance(on_tensor_cores(torch.device("cpu")), SplitConvolutions)


@pytest.mark.skipif(not GPU, reason="needs a GPU")
def test_a_gpu_answers_like_a_cpu():
    torch.manual_seed(0)
    network = Residual(18, small=True).eval().requires_grad_(False)
    x = torch.rand(130, 3, 32, 32)
    expected = network(x)
    answer = in_parts(network.cuda(), x.cuda()).cpu()
    assert (answer - expected).norm() < 2e-5 * expected.norm()
