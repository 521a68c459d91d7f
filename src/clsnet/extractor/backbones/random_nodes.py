"""Random nodes at every place of an image."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

BIAS = 0.5
LEAST = 1e-3


class Places(nn.Module):
    """Random ReLU nodes at every place of a map, averaged over the image.

    They tell how often the channels of a map go together, which means over an image do not. What a
    map holds at a place is standardised, so the nodes need no data to be scaled by. They follow
    from the seed on any machine, so nobody has to keep them.

    Parameters
    ----------
    channels
        Of the map.
    nodes
        How many.
    seed
        Of their weights and biases.

    Examples
    --------
    >>> Places(channels=8, nodes=5, seed=0)(torch.rand(2, 8, 4, 4)).shape
    torch.Size([2, 5])
    """

    weight: Tensor
    bias: Tensor

    def __init__(self, channels: int, nodes: int, seed: int) -> None:
        super().__init__()
        random = np.random.RandomState(seed)
        weight = random.standard_normal((nodes, channels, 1, 1)) / channels**0.5
        bias = random.uniform(-BIAS, BIAS, nodes)
        for name, value in (("weight", weight), ("bias", bias)):
            self.register_buffer(name, torch.tensor(value, dtype=torch.float32), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return one row per image."""
        x = x - x.mean(dim=1, keepdim=True)
        x = x / (x.square().mean(dim=1, keepdim=True).sqrt() + LEAST)
        return nn.functional.conv2d(x, self.weight, self.bias).relu().mean(dim=(2, 3))
