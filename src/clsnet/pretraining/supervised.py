"""Supervised pretraining on mixed and rotated images."""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn

from clsnet.pretraining.augment import TURNS, flipped, jittered, resized_crops, turned
from clsnet.pretraining.feeding import Feed
from clsnet.pretraining.objective import Objective

ALPHA = 0.2


class Supervised(Objective):
    """Cross-entropy over classes and quarter turns of mixed images.

    Each image is turned by 0 to 3 quarters, a class and a turn are one label, and then mixed with
    another of the batch, in shares that follow Beta(0.2, 0.2). Both aim at features for classes to
    come, not at the base classes themselves; with one turn, images stay upright.

    Parameters
    ----------
    network, mean, deviation
        As for every objective; the network has four outputs per class.

    References
    ----------
    H. Zhang et al., "mixup: Beyond Empirical Risk Minimization", ICLR 2018.
    H. Lee, S. J. Hwang, J. Shin, "Self-supervised Label Augmentation via Input Transformations",
    ICML 2020.

    Examples
    --------
    >>> from clsnet.methods.common.residual import Residual
    >>> network = Residual(18, small=True, n_classes=4 * TURNS)
    >>> objective = Supervised(network, mean=(0.5, 0.5, 0.5), deviation=(0.2, 0.2, 0.2))
    >>> images, labels = torch.zeros(2, 3, 8, 8, dtype=torch.uint8), torch.tensor([1, 3])
    >>> drawn = objective.draw(images, labels, 8, torch.Generator().manual_seed(0))
    >>> loss, accuracy = objective(*drawn)
    >>> loss.shape
    torch.Size([])
    """

    epochs = 40
    rate = 0.2
    turn = 0.03
    turns = TURNS
    watched = "accuracy"

    def draw(
        self, images: Tensor, labels: Tensor, side: int, random: Generator
    ) -> tuple[Tensor, ...]:
        """Return mixed views, the labels of both their parts, and the share of the first."""
        if self.turns > 1:
            images, turns = turned(images, random)
            labels = TURNS * labels + turns
        views = resized_crops(images / 255, random, side, smallest=0.35)
        views = jittered(flipped(views, random), random, strength=0.2)
        share = torch._sample_dirichlet(views.new_full((len(views), 2), ALPHA), random)[:, 0]
        views = torch.lerp(views.roll(1, 0), views, share[:, None, None, None])
        return self.normalised(views), labels, labels.roll(1), share

    def forward(
        self, views: Tensor, first: Tensor, second: Tensor, share: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the loss, and the share of views whose larger part is told right."""
        scores = self.network(views).float()
        losses = [
            nn.functional.cross_entropy(scores, labels, reduction="none")
            for labels in (first, second)
        ]
        larger = torch.where(share >= 0.5, first, second)
        accuracy = (scores.detach().argmax(dim=1) == larger).float().mean()
        return torch.lerp(losses[1], losses[0], share).mean(), accuracy

    def accuracy(self, train: Feed, test: Feed) -> float:
        """Return the share of upright test images that the network tells right."""
        scores, labels = self.outputs(test, self.network.fc)
        scores = scores[:, :: self.turns]
        return float((scores.argmax(dim=1) == labels).float().mean())
