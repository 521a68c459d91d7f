import pytest
import torch
from torch.nn.functional import batch_norm, conv2d, linear, max_pool2d

from clsnet.methods.common.residual import BLOCKS, Residual


def network(depth=18, small=True, n_classes=5):
    """A network whose every layer matters: nothing is at zero or one."""
    torch.manual_seed(0)
    net = Residual(depth, small, n_classes).eval()
    for layer in net.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            for tensor in (layer.weight, layer.running_var):
                torch.nn.init.uniform_(tensor, 0.5, 1.0)
            for tensor in (layer.bias, layer.running_mean):
                torch.nn.init.normal_(tensor, std=0.1)
    return net.requires_grad_(False)


def literal_blocks(state, x, depth, small):
    """The formulas of the paper, by the names of the tensors."""

    def layer(x, conv, bn, stride=1):
        weight = state[f"{conv}.weight"]
        x = conv2d(x, weight, stride=stride, padding=weight.shape[-1] // 2)
        mean, variance, gain, bias = (
            state[f"{bn}.{name}"] for name in ("running_mean", "running_var", "weight", "bias")
        )
        return batch_norm(x, mean, variance, gain, bias)

    x = layer(x, "conv1", "bn1", 1 if small else 2).relu()
    if not small:
        x = max_pool2d(x, 3, 2, 1)
    for stage, n_blocks in enumerate(BLOCKS[depth]):
        for number in range(n_blocks):
            name = f"layer{stage + 1}.{number}"
            stride = 2 if stage and not number else 1
            strides = (stride, 1) if depth == 18 else (1, stride, 1)
            y = x
            for i, s in enumerate(strides, start=1):
                y = layer(y if i == 1 else y.relu(), f"{name}.conv{i}", f"{name}.bn{i}", s)
            if f"{name}.downsample.0.weight" in state:
                x = layer(x, f"{name}.downsample.0", f"{name}.downsample.1", stride)
            x = (x + y).relu()
            yield x


@pytest.mark.parametrize("depth", [18, 50])
@pytest.mark.parametrize("small", [True, False])
def test_blocks_equal_the_formulas(depth, small):
    net = network(depth, small)
    x = torch.randn(2, 3, 20, 20)
    expected = list(literal_blocks(net.state_dict(), x, depth, small))
    blocks = list(net.blocks(x))
    assert len(blocks) == sum(BLOCKS[depth])
    for mine, literal in zip(blocks, expected, strict=True):
        torch.testing.assert_close(mine, literal, rtol=1e-4, atol=1e-4)
    pooled = expected[-1].mean(dim=(2, 3))
    torch.testing.assert_close(net.embed(x), pooled, rtol=1e-4, atol=1e-4)
    state = net.state_dict()
    scores = linear(pooled, state["fc.weight"], state["fc.bias"])
    torch.testing.assert_close(net(x), scores, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("depth, millions, tensors", [(18, 11_689_512, 122), (50, 25_557_032, 320)])
def test_networks_for_photographs_have_the_published_sizes(depth, millions, tensors):
    net = Residual(depth)
    assert sum(p.numel() for p in net.parameters()) == millions
    assert len(net.state_dict()) == tensors
    assert "layer4.1.conv2.weight" in net.state_dict()


def test_small_images_keep_their_resolution_through_stage_1():
    x = torch.zeros(1, 3, 32, 32)
    sides = [[block.shape[-1] for block in network(18, small).blocks(x)] for small in (True, False)]
    assert sides == [[32, 32, 16, 16, 8, 8, 4, 4], [8, 8, 4, 4, 2, 2, 1, 1]]


def test_new_blocks_pass_on_what_they_get():
    """The last normalisation of a block starts at zero, so a deep network trains from the start."""
    net = Residual(18, small=True, n_classes=2).eval()
    first, second, *_ = net.blocks(torch.randn(2, 3, 8, 8))
    assert torch.equal(first, second)
