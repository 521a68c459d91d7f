"""The base class of pretraining objectives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Generator, Tensor, nn

from clsnet.methods.common.residual import Residual
from clsnet.pretraining.feeding import Feed


class Objective(nn.Module, ABC):
    """A network, what is trained with it, and the loss of both.

    `forward` takes what `draw` returns, and returns the loss and a figure worth watching.

    Parameters
    ----------
    network
        What is pretrained.
    mean, deviation
        Of each channel, as fractions of one: the network sees normalised images.
    """

    epochs: ClassVar[int]
    rate: ClassVar[float]
    """Highest learning rate, for batches of 256 images."""
    turn: ClassVar[float] = 0.0
    """That of convolutions, if their steps are orthogonal: a share of their norm."""
    watched: ClassVar[str]
    """Name of the figure worth watching."""

    mean: Tensor
    deviation: Tensor

    def __init__(
        self, network: Residual, mean: Sequence[float], deviation: Sequence[float]
    ) -> None:
        super().__init__()
        self.network = network
        for name, values in (("mean", mean), ("deviation", deviation)):
            channels = torch.tensor(values).reshape(3, 1, 1)
            self.register_buffer(name, channels, persistent=False)

    @abstractmethod
    def draw(
        self, images: Tensor, labels: Tensor, side: int, random: Generator
    ) -> tuple[Tensor, ...]:
        """Return random views of a batch of `uint8` images, and what the loss needs beside."""

    @abstractmethod
    def accuracy(self, train: Feed, test: Feed) -> float:
        """Return the share of test images that the network, or its embedding, tells right."""

    def normalised(self, images: Tensor) -> Tensor:
        """Return what the network sees of images from 0 to 1."""
        seen = (images - self.mean) / self.deviation
        return seen.contiguous(memory_format=torch.channels_last)

    def outputs(self, feed: Feed, layer: nn.Module) -> tuple[Tensor, Tensor]:
        """Return what `layer` makes of the embeddings of all images as they are, and labels."""
        training = self.training
        self.eval()
        order = torch.arange(len(feed), device=feed.device)
        with torch.no_grad(), reduced_precision(feed.device):
            parts = [
                (layer(self.network.embed(self.normalised(images / 255))).float(), labels)
                for images, labels in feed.batches(order, 512)
            ]
        self.train(training)
        outputs, labels = zip(*parts, strict=True)
        return torch.cat(outputs), torch.cat(labels)


def reduced_precision(device: torch.device) -> torch.autocast:
    """Compute in float16 where that is fast."""
    return torch.autocast(device.type, torch.float16, enabled=device.type == "cuda")
