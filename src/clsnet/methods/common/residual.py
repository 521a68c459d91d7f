"""Residual networks, in the form for photographs and in the form for small images."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor, nn

BLOCKS = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3)}


class Basic(nn.Module):
    """Two convolutions and a shortcut."""

    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = _shortcut(inputs, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum of both ways."""
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y = y + (x if self.downsample is None else self.downsample(x))
        out: Tensor = self.relu(y)
        return out


class Bottleneck(nn.Module):
    """Three convolutions, the middle one narrow, and a shortcut; the stride is in the middle."""

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * self.expansion
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = _shortcut(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum of both ways."""
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y = y + (x if self.downsample is None else self.downsample(x))
        out: Tensor = self.relu(y)
        return out


class Residual(nn.Module):
    """ResNet-18 or ResNet-50; its tensors have the names that torchvision gave them.

    Parameters
    ----------
    depth
        18 or 50.
    small
        For images of 32 to 64 pixels: a 3x3 convolution first, and no stride before stage 2.
    n_classes
        Outputs of the last layer.

    References
    ----------
    K. He et al., "Deep Residual Learning for Image Recognition", CVPR 2016.

    Examples
    --------
    >>> import torch
    >>> network = Residual(18, small=True, n_classes=10)
    >>> network(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    >>> [tuple(block.shape[1:]) for block in network.blocks(torch.zeros(1, 3, 32, 32))][-3:]
    [(256, 8, 8), (512, 4, 4), (512, 4, 4)]
    """

    def __init__(self, depth: int = 18, small: bool = False, n_classes: int = 1000) -> None:
        super().__init__()
        self.block = Basic if depth == 18 else Bottleneck
        self.conv1 = (
            nn.Conv2d(3, 64, 3, 1, 1, bias=False)
            if small
            else nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        )
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.Identity() if small else nn.MaxPool2d(3, 2, 1)
        self.width = 64
        for stage, n_blocks in enumerate(BLOCKS[depth]):
            self.add_module(f"layer{stage + 1}", self._stage(stage, n_blocks))
        self.fc = nn.Linear(self.width, n_classes)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
        for layer in self.modules():
            if isinstance(layer, (Basic, Bottleneck)):
                last = layer.bn2 if isinstance(layer, Basic) else layer.bn3
                nn.init.zeros_(last.weight)

    def blocks(self, x: Tensor) -> Iterator[Tensor]:
        """Yield the output of every residual block, from the first to the last."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for stage in range(4):
            for block in self.get_submodule(f"layer{stage + 1}").children():
                x = block(x)
                yield x

    def embed(self, x: Tensor) -> Tensor:
        """Return the pooled output of the last block."""
        *_, last = self.blocks(x)
        return last.mean(dim=(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        """Return one score per class."""
        scores: Tensor = self.fc(self.embed(x))
        return scores

    def _stage(self, stage: int, n_blocks: int) -> nn.Sequential:
        blocks: list[nn.Module] = []
        for number in range(n_blocks):
            stride = 2 if stage > 0 and number == 0 else 1
            blocks.append(self.block(self.width, 64 * 2**stage, stride))
            self.width = 64 * 2**stage * self.block.expansion
        return nn.Sequential(*blocks)


def _shortcut(inputs: int, outputs: int, stride: int) -> nn.Sequential | None:
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
