"""Efficient feature transformations."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor, nn

from clsnet.methods.common.residual import Basic, Bottleneck
from clsnet.methods.common.trainer import Trainer
from clsnet.methods.common.trunks import cosine
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method

WIDE, POINT = 8, 16  # channels of a group of the 3x3 and of the 1x1 convolution


class EFT(Trainer):
    """Share all layers among tasks, and add small maps and a head for every task.

    The shared layers are learned with the first task and frozen, or, in the tuned form, pretrained
    and frozen from the start. A task has a path: a batch normalisation of its own behind each
    linear layer, or, behind each block of a residual network, a grouped 3x3 and a grouped 1x1
    convolution, summed, normalised and added. Its maps start as copies of the last task's; paths
    of old tasks are frozen, so their outputs stay the same to the bit. Which task a sample belongs
    to is inferred: the path whose softmax has the least entropy answers.

    A second loss pushes the features of a new path away from those of the old paths on the same
    images: the mean over old paths of ``max(0, 1 - distance / batch size)``, where the distance is
    that of all features of a batch.

    The released code puts its maps behind each convolution, and trains the convolutions with the
    first task; here they are behind blocks, where they can be added to what is pretrained. For
    linear layers the paper has a factor of each unit; the one that batch normalisation brings is
    the same, and that of the release's other layers. A head starts anew, not as the last task's.
    Entropies are divided by the greatest possible one, since tasks may have different numbers of
    classes; a path of one class is never certain. The release trains 250 epochs, and keeps the one
    that is best on test data; here there are fewer, and the last is kept.

    A path is as certain about samples of other tasks as about its own, because it has seen no
    others. With two classes per task, the entropy therefore says little.

    Parameters
    ----------
    momentum, weight_decay
        Of the gradient descent; the rate falls to zero along half a cosine.
    distance
        Weight of the second loss.
    freezing
        Whether the shared layers are frozen; else all tasks change them.
    options
        As for `Trainer`.

    References
    ----------
    V. K. Verma et al., "Efficient Feature Transformations for Discriminative and Generative
    Continual Learning", CVPR 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = EFT(hidden=(100,), batch_size=20, device="cpu")
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])
    >>> len(model.net.paths)
    5
    >>> bool(0.3 < (model.predict(X / 16) == y).mean() < 0.8)
    True
    """

    tunable = True
    learning_rate = 0.01
    momentum: float = option(0.9, least=0, most=1)
    weight_decay: float = option(5e-3, least=0)
    distance: float = option(0.05, least=0)
    freezing: bool = option(True)

    net: Paths

    def start(self) -> None:
        """Know no task yet."""
        self.members: list[list[int]] = []  # of each path: the codes of its classes

    def new_network(self, n_outputs: int) -> Paths:  # type: ignore[override]
        """Return the shared layers, without paths."""
        plain = super().new_network(n_outputs)
        assert isinstance(plain.body, nn.Sequential)
        return Paths(plain.body, plain.head.in_features)

    def start_task(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Add a path; from the second one on, or from the first if pretrained, freeze the rest."""
        self.members.append(torch.unique(y).tolist())
        self.net.add_path(len(self.members[-1]))
        self.net.to(self.device_)
        self.net.freeze(shared=self.freezing and (self.task > 0 or self.tuned))
        return X, y

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the loss of the new path, and that of being near old paths."""
        features = self.net.features(x)
        target = torch.searchsorted(torch.tensor(self.members[-1], device=y.device), y)
        loss = nn.functional.cross_entropy(self.net.heads[-1](features), target)
        if self.task == 0 or self.distance == 0:
            return loss
        with torch.no_grad():
            old = [self.net.features(x, path) for path in range(self.task)]
        return loss + self.distance * nearness(features, old)

    def optimiser(self) -> torch.optim.Optimizer:
        """Return gradient descent with momentum of what is not frozen."""
        return torch.optim.SGD(
            [weight for weight in self.net.parameters() if weight.requires_grad],
            lr=self.rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
        )

    def schedule(self, epoch: int) -> float:
        """Fall to zero along half a cosine."""
        return cosine(epoch / self.epochs)

    @torch.no_grad()
    def scores(self, x: Tensor) -> Tensor:
        """Return the scores of the path that is most certain; no other class is chosen."""
        self.net.eval()
        return torch.cat([self._scores(part) for part in torch.split(x, self.rows_at_once)])

    def _scores(self, x: Tensor) -> Tensor:
        paths = self.net(x)
        best = torch.stack([uncertainty(each) for each in paths]).argmin(dim=0)
        scores = torch.full((len(x), len(self.labels)), -math.inf, device=x.device)
        for path, (members, own) in enumerate(zip(self.members, paths, strict=True)):
            rows = (best == path).nonzero()
            scores[rows, torch.tensor(members, device=x.device)] = own[rows[:, 0]]
        return scores


class Paths(nn.Module):
    """Layers that all tasks share; per task a path: maps behind the layers, and a head.

    What is frozen stays in evaluation mode.

    Parameters
    ----------
    body
        The shared layers. They keep their weights.
    width
        Number of features that they make.

    Examples
    --------
    >>> net = Paths(nn.Sequential(nn.Linear(64, 5), nn.ReLU()), width=5)
    >>> for n_classes in (2, 3):
    ...     net.add_path(n_classes)
    >>> [tuple(scores.shape) for scores in net.eval()(torch.zeros(4, 64))]
    [(4, 2), (4, 3)]
    """

    def __init__(self, body: nn.Sequential, width: int) -> None:
        super().__init__()
        self.kind, self.width = type(body), width
        parts = (each if isinstance(each, nn.Sequential) else [each] for each in body)
        self.shared = nn.ModuleList(layer for part in parts for layer in part)
        self.paths = nn.ModuleList()
        self.heads = nn.ModuleList()

    def grow(self, n_outputs: int) -> None:
        """Do nothing: a path brings its outputs."""

    def add_path(self, n_classes: int) -> None:
        """Add a path whose maps are copies of the last ones, with a new head."""
        old = self.paths[-1] if self.paths else nn.ModuleList(map(map_behind, self.shared))
        self.paths.append(copy.deepcopy(old))
        self.heads.append(nn.Linear(self.width, n_classes))

    def freeze(self, shared: bool) -> None:
        """Freeze all paths but the newest, and perhaps what they share."""
        for part in (*self.paths[:-1], *self.heads[:-1], *(self.shared if shared else ())):
            part.requires_grad_(False)

    def train(self, mode: bool = True) -> Self:
        """Train what is not frozen."""
        super().train(mode)
        for part in (*self.shared, *self.paths):
            if not any(weight.requires_grad for weight in part.parameters()):
                part.eval()
        return self

    def features(self, x: Tensor, path: int = -1) -> Tensor:
        """Return the features of a path, by default of the newest."""
        pairs = zip(self.shared, self.paths[path].children(), strict=True)
        features: Tensor = self.kind(*(part for pair in pairs for part in pair))(x)
        return features

    def forward(self, x: Tensor) -> list[Tensor]:
        """Return the scores of each path, for its own classes."""
        return [head(self.features(x, path)) for path, head in enumerate(self.heads)]


def map_behind(layer: nn.Module) -> nn.Module:
    """Return what a path puts behind a shared layer."""
    if isinstance(layer, nn.Linear):
        return nn.BatchNorm1d(layer.out_features)
    if isinstance(layer, Basic):
        return GroupedMap(layer.bn2.num_features)
    if isinstance(layer, Bottleneck):
        return GroupedMap(layer.bn3.num_features)
    return nn.Identity()


class GroupedMap(nn.Module):
    """Add a grouped 3x3 and a grouped 1x1 convolution, normalised, to a map; at first, nothing."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.wide = nn.Conv2d(channels, channels, 3, padding=1, groups=channels // WIDE, bias=False)
        self.point = nn.Conv2d(channels, channels, 1, groups=channels // POINT, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        nn.init.zeros_(self.norm.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum, where it is positive."""
        added: Tensor = self.norm(self.wide(x) + self.point(x))
        return (x + added).relu()


def uncertainty(scores: Tensor) -> Tensor:
    """Return the entropy of each sample's softmax, as a share of the greatest possible one.

    One class alone says nothing, and counts as uncertain.

    Examples
    --------
    >>> uncertainty(torch.tensor([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0]])).round(decimals=3)
    tensor([1.0000, 0.0020])
    >>> uncertainty(torch.tensor([[7.0]]))
    tensor([1.])
    """
    n_classes = scores.shape[1]
    if n_classes == 1:
        return torch.ones_like(scores[:, 0])
    p = scores.log_softmax(dim=1)
    return -(p.exp() * p).sum(dim=1) / math.log(n_classes)


def nearness(features: Tensor, old: Sequence[Tensor]) -> Tensor:
    """Return how near a batch's features are to those of old paths: 1 if equal, 0 if far.

    Examples
    --------
    >>> ones = torch.ones(2, 4)
    >>> nearness(ones, [ones, 0 * ones, -ones])
    tensor(0.3333)
    """
    distances = torch.stack([(features - each).norm() for each in old])
    return (1 - distances / len(features)).relu().mean()


METHOD = Method(
    name="eft",
    module=__name__,
    learner="EFT",
    family="architecture",
    backbones=True,
    tunable=True,
    keeps="small maps and a head per task",
    reference="Verma et al., Efficient Feature Transformations for Discriminative and Generative "
    "Continual Learning, CVPR 2021",
    paper="EFT",
    without={"freezing": False},
    grid={"learning_rate": [0.003, 0.01, 0.03]},
)
