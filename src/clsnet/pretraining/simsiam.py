"""SimSiam: learn similar embeddings of two views of an image, without labels."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import cosine_similarity, normalize

from clsnet.methods.common.residual import Residual
from clsnet.pretraining.augment import flipped, greyed, jittered, resized_crops
from clsnet.pretraining.feeding import Feed
from clsnet.pretraining.objective import Objective

WIDTH, BOTTLENECK = 2048, 512
NEIGHBOURS, TEMPERATURE = 20, 0.1


class SimSiam(Objective):
    """Predict the projection of one view from that of the other, which gives no gradient.

    The last layer of the network has no part in it and stays as it was drawn.

    References
    ----------
    X. Chen, K. He, "Exploring Simple Siamese Representation Learning", CVPR 2021.

    Examples
    --------
    >>> network = Residual(18, small=True, n_classes=4)
    >>> objective = SimSiam(network, mean=(0.5, 0.5, 0.5), deviation=(0.2, 0.2, 0.2))
    >>> images, labels = torch.zeros(2, 3, 8, 8, dtype=torch.uint8), torch.tensor([1, 3])
    >>> drawn = objective.draw(images, labels, 8, torch.Generator().manual_seed(0))
    >>> loss, spread = objective(*drawn)
    >>> loss.shape
    torch.Size([])
    """

    epochs = 200
    rate = 0.05
    watched = "spread"

    def __init__(
        self, network: Residual, mean: Sequence[float], deviation: Sequence[float]
    ) -> None:
        super().__init__(network, mean, deviation)
        network.fc.requires_grad_(False)
        self.projector = nn.Sequential(
            *_layer(network.fc.in_features, WIDTH),
            *_layer(WIDTH, WIDTH),
            nn.Linear(WIDTH, WIDTH, bias=False),
            nn.BatchNorm1d(WIDTH, affine=False),
        )
        self.predictor = nn.Sequential(*_layer(WIDTH, BOTTLENECK), nn.Linear(BOTTLENECK, WIDTH))

    def draw(
        self, images: Tensor, labels: Tensor, side: int, random: Generator
    ) -> tuple[Tensor, ...]:
        """Return two views of each image."""
        return tuple(self._view(images, side, random) for _ in range(2))

    def forward(self, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss, and the spread of projections: 0 if they collapsed, 1 at best."""
        projections = [self.projector(self.network.embed(view)) for view in (first, second)]
        predictions = [self.predictor(projection) for projection in projections]
        alike = [
            cosine_similarity(prediction.float(), projection.detach().float()).mean()
            for prediction, projection in zip(predictions, reversed(projections), strict=True)
        ]
        deviation = normalize(projections[0].detach().float()).std(dim=0, correction=0)
        return -(alike[0] + alike[1]) / 2, deviation.mean() * WIDTH**0.5

    def accuracy(self, train: Feed, test: Feed) -> float:
        """Return the share of test images whose nearest training images vote right."""
        known, known_labels = self.outputs(train, nn.Identity())
        asked, labels = self.outputs(test, nn.Identity())
        known = normalize(known)
        n_classes = int(known_labels.max()) + 1
        right = 0
        for start in range(0, len(asked), 512):
            some = slice(start, start + 512)
            alike, nearest = (normalize(asked[some]) @ known.T).topk(min(NEIGHBOURS, len(known)))
            votes = torch.zeros(len(alike), n_classes, device=asked.device)
            votes.scatter_add_(1, known_labels[nearest], (alike / TEMPERATURE).exp())
            right += int((votes.argmax(dim=1) == labels[some]).sum())
        return right / len(asked)

    def _view(self, images: Tensor, side: int, random: Generator) -> Tensor:
        views = flipped(resized_crops(images / 255, random, side, smallest=0.2), random)
        views = greyed(jittered(views, random, strength=0.4), random, chance=0.2)
        return self.normalised(views)


def _layer(inputs: int, outputs: int) -> tuple[nn.Module, ...]:
    return nn.Linear(inputs, outputs, bias=False), nn.BatchNorm1d(outputs), nn.ReLU(inplace=True)
