"""Random changes to a batch of images, on the device it lies on; each image has its own.

Images are floats of shape (n, 3, height, width) from 0 to 1, and so are the results. Everything
random is drawn from the generator, which must be the device's.
"""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor, nn

TURNS = 4
LUMA = (0.299, 0.587, 0.114)


def resized_crops(images: Tensor, random: Generator, side: int, smallest: float) -> Tensor:
    """Cut a random rectangle out of each image and scale it to a square.

    Parameters
    ----------
    images, random
        The batch, and where randomness comes from.
    side
        Side length of the results.
    smallest
        Least share of the image's area; it is 3:4 to 4:3 in shape.

    Examples
    --------
    >>> random = torch.Generator().manual_seed(0)
    >>> resized_crops(torch.rand(2, 3, 8, 8), random, side=6, smallest=0.5).shape
    torch.Size([2, 3, 6, 6])
    """
    n = len(images)
    area = _uniform(images, random, smallest, 1)
    stretch = _uniform(images, random, math.log(3 / 4) / 2, math.log(4 / 3) / 2).exp()
    width = (area.sqrt() * stretch).clamp(max=1)
    height = (area.sqrt() / stretch).clamp(max=1)
    # The image reaches from -1 to 1: a rectangle may move by what it leaves free.
    x = (1 - width) * _uniform(images, random, -1, 1)
    y = (1 - height) * _uniform(images, random, -1, 1)
    zero = torch.zeros_like(x)
    maps = torch.stack([width, zero, x, zero, height, y], dim=1).reshape(n, 2, 3)
    grid = nn.functional.affine_grid(maps, [n, 3, side, side], align_corners=False)
    return nn.functional.grid_sample(images, grid, padding_mode="border", align_corners=False)


def turned(images: Tensor, random: Generator) -> tuple[Tensor, Tensor]:
    """Turn each square image by a random number of quarters; return these numbers too.

    Examples
    --------
    >>> random = torch.Generator().manual_seed(0)
    >>> images, turns = turned(torch.tensor([0.0, 1, 2, 3]).reshape(1, 1, 2, 2), random)
    >>> turns.tolist(), images.flatten().tolist()
    ([0], [0.0, 1.0, 2.0, 3.0])
    """
    turns = torch.randint(TURNS, (len(images),), generator=random, device=images.device)
    ways = torch.stack([images.rot90(quarters, (2, 3)) for quarters in range(TURNS)])
    return ways[turns, torch.arange(len(images), device=images.device)], turns


def flipped(images: Tensor, random: Generator) -> Tensor:
    """Mirror half of the images.

    Examples
    --------
    >>> random = torch.Generator().manual_seed(0)
    >>> rows = torch.tensor([0.0, 1.0]).expand(4, 3, 1, 2)
    >>> flipped(rows, random)[:, 0, 0].tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
    """
    return torch.where(_coins(images, random, 0.5), images.flip(3), images)


def jittered(images: Tensor, random: Generator, strength: float) -> Tensor:
    """Change saturation, contrast and brightness, each by a factor of up to 1 ± `strength`.

    Examples
    --------
    >>> random = torch.Generator().manual_seed(0)
    >>> bool((jittered(torch.rand(2, 3, 4, 4), random, 0.4) <= 1).all())
    True
    """
    saturation, contrast, brightness = (
        _uniform(images, random, 1 - strength, 1 + strength)[:, None, None, None] for _ in range(3)
    )
    grey = _grey(images)
    mean = grey.mean(dim=(2, 3), keepdim=True)
    saturated = grey + saturation * (images - grey)
    return (brightness * (mean + contrast * (saturated - mean))).clamp(0, 1)


def greyed(images: Tensor, random: Generator, chance: float) -> Tensor:
    """Take the colour out of some images.

    Examples
    --------
    >>> random = torch.Generator().manual_seed(0)
    >>> grey = greyed(torch.rand(1, 3, 2, 2), random, chance=1.0)
    >>> bool((grey[:, 0] == grey[:, 2]).all())
    True
    """
    return torch.where(_coins(images, random, chance), _grey(images), images)


def _grey(images: Tensor) -> Tensor:
    red, green, blue = LUMA  # as numbers: a tensor would have to wait for the device
    return red * images[:, :1] + green * images[:, 1:2] + blue * images[:, 2:]


def _uniform(images: Tensor, random: Generator, low: float, high: float) -> Tensor:
    drawn = torch.rand(len(images), generator=random, device=images.device)
    return low + (high - low) * drawn


def _coins(images: Tensor, random: Generator, chance: float) -> Tensor:
    return _uniform(images, random, 0, 1)[:, None, None, None] < chance
