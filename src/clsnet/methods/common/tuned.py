"""A pretrained residual network as the body of a network that is trained further."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.convolution import MisfitError, check_shapes
from clsnet.extractor.backbones.resizing import resized
from clsnet.extractor.backbones.resnet import Architecture
from clsnet.extractor.backbones.weights import read_weights
from clsnet.methods.common.residual import Residual

SHIFT = 16  # images move by up to a sixteenth of their side


class Pixels(nn.Module):
    """Resize and normalise images of 0 to 255, as the frozen network of the same file does.

    Parameters
    ----------
    size
        Side length of the results.
    mean, deviation
        Of the three channels, as fractions of one. An image of one channel becomes grey.

    Examples
    --------
    >>> pixels = Pixels(4, mean=(0.5, 0.5, 0.5), deviation=(0.25, 0.25, 0.25))
    >>> pixels(torch.full((1, 1, 4, 4), 255, dtype=torch.uint8))[0, :, 0, 0]
    tensor([2., 2., 2.])
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, size: int, mean: Sequence[float], deviation: Sequence[float]) -> None:
        super().__init__()
        self.size = size
        self.register_buffer("mean", torch.tensor(mean).view(3, 1, 1))
        self.register_buffer("deviation", torch.tensor(deviation).view(3, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Return what the first convolution sees."""
        images = resized(x.float(), self.size, self.size)
        seen: Tensor = images * (1 / (255 * self.deviation)) - self.mean / self.deviation
        return seen.contiguous(memory_format=torch.channels_last)


class Pool(nn.Module):
    """The mean over all places of a map."""

    def forward(self, x: Tensor) -> Tensor:
        """Return one row per image, in single precision."""
        return x.float().mean(dim=(2, 3))


class ReducedPrecision(nn.Sequential):
    """Layers one after another; on a GPU, products are in bfloat16."""

    def forward(self, x: Tensor) -> Tensor:
        """Return what the last layer makes of the samples."""
        with torch.autocast(x.device.type, torch.bfloat16, enabled=x.is_cuda):
            out: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
        return out


def pretrained_body(file: str) -> tuple[nn.Sequential, int]:
    """Return the network of ``clsnet pretrain`` without its last layer, and its number of features.

    The last two layers of the result are the last stage and the pooling.
    """
    about, state = read_weights(Path(file))
    depth = int(about.network.removeprefix("resnet"))
    n_classes = len(state.get("fc.bias", (0,)))
    try:
        check_shapes(state, Architecture(depth, about.small).shapes(n_classes))
    except MisfitError:
        raise ClsnetError(
            f"the weights in {file} do not fit {about.network}; make them again with "
            "clsnet pretrain."
        ) from None
    network = Residual(depth, about.small, n_classes)
    network.load_state_dict({name: torch.tensor(array) for name, array in state.items()})
    body = ReducedPrecision(
        Pixels(about.size, about.mean, about.deviation),
        nn.Sequential(network.conv1, network.bn1, network.relu, network.maxpool),
        *(network.get_submodule(f"layer{stage}") for stage in (1, 2, 3, 4)),
        Pool(),
    )
    return body.to(memory_format=torch.channels_last), network.width  # type: ignore[call-overload]


def moved(images: Tensor, random: torch.Generator) -> Tensor:
    """Mirror half of the images, and shift each a little; its border fills the gap.

    Everything random comes from a generator of the CPU, whatever device the images are on.

    Examples
    --------
    >>> random = torch.Generator().manual_seed(1)
    >>> moved(torch.arange(4).expand(3, 1, 2, 4), random)[:, 0, 0].tolist()
    [[2, 1, 0, 0], [3, 2, 1, 0], [3, 2, 1, 0]]
    """
    n, _, height, width = images.shape
    shifts = [max(1, side // SHIFT) for side in (height, width)]
    drawn = [torch.randint(2 * by + 1, (n, 1), generator=random) - by for by in shifts]
    mirrored = torch.randint(2, (n, 1), generator=random)
    down, right, mirrored = torch.stack([*drawn, mirrored]).to(images.device, non_blocking=True)
    rows = (torch.arange(height, device=images.device) + down).clamp(0, height - 1)
    columns = (torch.arange(width, device=images.device) + right).clamp(0, width - 1)
    columns = torch.where(mirrored == 1, width - 1 - columns, columns)
    each = torch.arange(n, device=images.device)[:, None, None]
    return images[each, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
