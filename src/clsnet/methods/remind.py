"""Replay of quantised feature maps."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Self

import torch
from scipy.cluster.vq import kmeans2
from torch import Tensor, nn

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.resnet import Architecture
from clsnet.extractor.backbones.weights import read_about
from clsnet.memory import MEGABYTE
from clsnet.methods.common.network import GrowingNetwork
from clsnet.methods.common.trainer import Exemplars, Trainer
from clsnet.methods.common.trunks import cosine
from clsnet.methods.common.tuned import pretrained_body
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method

FITTED_IMAGES = 1024  # of the first task, from which codebooks are learned
ITERATIONS = 25
LEAST_AREA = 2 / 7  # of a crop
LARGEST_RATIO = 4 / 3  # of the sides of a crop


class ProductQuantiser:
    """Codebooks, one for each part of the channels of a map: a place becomes one byte per part.

    Parameters
    ----------
    centroids
        Of shape (codebooks, entries, channels of a part).

    Examples
    --------
    >>> quantiser = ProductQuantiser(torch.tensor([[[0.0], [9.0]], [[5.0], [7.0]]]))
    >>> codes = quantiser.encode(torch.tensor([8.0, 5.5]).view(1, 2, 1, 1))
    >>> codes.tolist(), quantiser.decode(codes).flatten().tolist()
    ([[[[1, 0]]]], [9.0, 5.0])
    """

    def __init__(self, centroids: Tensor) -> None:
        self.centroids = centroids

    @classmethod
    def learned(cls, maps: Tensor, codebooks: int, size: int, random: torch.Generator) -> Self:
        """Learn codebooks by k-means, each from distinct rows of its part of the channels."""
        parts = maps.movedim(1, 3).float().flatten(0, 2).chunk(codebooks, dim=1)
        centroids = []
        for part in parts:
            rows = part.cpu().contiguous()
            distinct = torch.unique(rows, dim=0)
            order = torch.randperm(len(distinct), generator=random)
            first = distinct[order[torch.arange(size) % len(order)]]
            with warnings.catch_warnings(action="ignore"):  # scipy warns of an entry without rows
                found, _ = kmeans2(rows.numpy(), first.numpy(), ITERATIONS, minit="matrix")
            centroids.append(torch.from_numpy(found))
        return cls(torch.stack(centroids).to(maps.device))

    def encode(self, maps: Tensor) -> Tensor:
        """Return the nearest entry of every codebook, of shape (n, height, width, codebooks)."""
        parts = maps.movedim(1, 3).float().chunk(len(self.centroids), dim=3)
        codes = [
            (part @ entries.T - entries.square().sum(dim=1) / 2).argmax(dim=3)
            for part, entries in zip(parts, self.centroids, strict=True)
        ]
        return torch.stack(codes, dim=3).to(torch.uint8)

    def decode(self, codes: Tensor) -> Tensor:
        """Return maps whose places are entries of the codebooks."""
        codebook = torch.arange(len(self.centroids), device=codes.device)
        return self.centroids[codebook, codes.long()].flatten(3).movedim(3, 1)


class SplitNetwork(GrowingNetwork):
    """Frozen lower layers, and upper layers with a head, which see the map of the lower ones."""

    def __init__(self, lower: nn.Module, upper: nn.Module, width: int) -> None:
        super().__init__(upper, width)
        self.lower = lower.requires_grad_(False)

    def train(self, mode: bool = True) -> Self:
        """Train the upper layers; the lower ones keep their statistics."""
        super().train(mode)
        self.lower.eval()
        return self


class REMIND(Trainer):
    """Replay compressed feature maps of old images, with one byte for each part of a place.

    All but the last block of a pretrained residual network is frozen. The map before that block is
    cut into parts of its channels; each becomes the number of the nearest entry of a codebook. The
    numbers are kept, of as many images of each class as a number of bytes has room for. The last
    block and the head learn from reconstructed maps: those of new images, and twice as many old
    ones as are replayed, each pair of them mixed to one. All are cropped at random and stretched.
    Maps are reconstructed from numbers when predicting too.

    The authors pretrain on the first classes of the sequence and learn codebooks on all images of
    these, before the first task. Here the network comes from a file, whose classes are others, and
    codebooks are learned from images of the first task; they never change. The release learns one
    image at a time, in one pass, with 50 old ones; here there are small batches and several
    epochs, and the buffer takes the images of a task before they are learned, not one by one. The
    release lets the rate of a class fall with each of its images; here it falls along half a
    cosine in each task.

    Parameters
    ----------
    codebooks, codebook_size
        Number of parts of the channels, and of the entries for each; at most 256, one byte.
    megabytes
        Room for codes; by default that of 2,000 images of 28x28 numbers.
    replayed_maps
        Number of old maps, after mixing, in every batch.
    mixup
        Both parameters of the beta distribution of the share of the first of two maps; 0: no
        mixing.
    crops
        Whether maps are cropped at random.
    batch_size
        Number of new images in a batch.
    weight_decay
        Of the gradient descent, which has momentum.
    backbone
        File of ``clsnet pretrain``.
    options
        As for `Trainer`, of the tuned form.

    References
    ----------
    T. L. Hayes et al., "REMIND Your Neural Network to Prevent Catastrophic Forgetting", ECCV 2020.

    Examples
    --------
    >>> REMIND(device="cpu").check_parameters()
    Traceback (most recent call last):
        ...
    clsnet.errors.ClsnetError: remind needs --backbone FILE.safetensors, of clsnet pretrain.
    """

    tunable = True
    form = "tuned"
    epochs = 4
    batch_size = 10
    codebooks: int = option(32, least=1)
    codebook_size: int = option(256, least=1, most=256)
    megabytes: float = option(5.98, least=0)
    replayed_maps: int = option(50, least=1)
    mixup: float = option(0.1, least=0)
    crops: bool = option(True)
    weight_decay: float = option(1e-5, least=0)

    quantiser: ProductQuantiser

    def check_parameters(self) -> None:
        """Raise an error if an option has a bad value, or no network is given."""
        if not str(self.backbone).endswith(".safetensors"):
            raise ClsnetError("remind needs --backbone FILE.safetensors, of clsnet pretrain.")
        if self.form == "frozen":
            raise ClsnetError("form='frozen': remind trains the last block; use form='tuned'.")
        super().check_parameters()
        about = read_about(Path(self.backbone))
        blocks = Architecture(int(about.network.removeprefix("resnet")), about.small).blocks
        channels = blocks[-1].convolutions[-1].outputs
        if channels % self.codebooks:
            raise ClsnetError(
                f"codebooks={self.codebooks}: {about.network} has {channels} channels, which "
                "cannot be divided equally; use 32."
            )

    def new_network(self, n_outputs: int) -> GrowingNetwork:
        """Return the pretrained network, divided before its last block."""
        body, width = pretrained_body(self.backbone)
        *lower, stage, pool = body
        assert isinstance(stage, nn.Sequential)
        net = SplitNetwork(type(body)(*lower, stage[:-1]), type(body)(stage[-1], pool), width)
        net.to(self.device_).grow(n_outputs)
        return net

    def start_task(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Encode the images, and let the buffer take what it has room for."""
        if self.task == 0:
            few = torch.randperm(len(X), generator=self.random)[:FITTED_IMAGES].to(X.device)
            self.quantiser = ProductQuantiser.learned(
                self.maps(X[few]), self.codebooks, self.codebook_size, self.random
            )
        codes = self.encode(X)
        every, classes = self.replayed(codes, y)
        room = int(self.megabytes * MEGABYTE) // codes[0].nbytes
        rows = balanced(classes, room, self.random)
        self.exemplars = Exemplars(every[rows], classes[rows])
        return codes, y

    @torch.no_grad()
    def maps(self, x: Tensor) -> Tensor:
        """Return what the frozen layers make of images."""
        self.net.eval()
        return torch.cat([self.net.lower(part) for part in torch.split(x, self.rows_at_once)])

    def encode(self, x: Tensor) -> Tensor:
        """Return the codes of images, for any number of them."""
        parts = torch.split(x, self.rows_at_once)
        return torch.cat([self.quantiser.encode(self.maps(part)) for part in parts])

    def varied(self, x: Tensor) -> Tensor:
        """Return codes as they are; their maps are varied."""
        return x

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropy of new maps, and of pairs of old ones."""
        assert self.exemplars is not None
        n = self.replayed_maps if len(self.exemplars) else 0
        drawn = len(self.exemplars) * torch.rand(2 * n, generator=self.random)
        rows = drawn.long().to(self.device_)
        maps = self.quantiser.decode(torch.cat([x, self.exemplars.X[rows]]))
        if self.crops:
            maps = cropped(maps, self.random)
        classes = torch.cat([y, self.exemplars.y[rows]])
        targets = nn.functional.one_hot(classes, len(self.labels)).float()
        share = (
            float(torch.distributions.Beta(self.mixup, self.mixup).sample()) if self.mixup else 1
        )

        def mixed(each: Tensor) -> Tensor:
            new, first, second = torch.split(each, [len(y), n, n])
            return torch.cat([new, share * first + (1 - share) * second])

        return nn.functional.cross_entropy(self.net(mixed(maps)), mixed(targets))

    def optimiser(self) -> torch.optim.Optimizer:
        """Return gradient descent with momentum of the last block and the head."""
        free = [weight for weight in self.net.parameters() if weight.requires_grad]
        return torch.optim.SGD(free, self.rate, momentum=0.9, weight_decay=self.weight_decay)

    def schedule(self, epoch: int) -> float:
        """Fall to zero along half a cosine."""
        return cosine(epoch / self.epochs)

    @torch.no_grad()
    def scores(self, x: Tensor) -> Tensor:
        """Return the scores of images, whose maps are reconstructed from codes."""
        codes = self.encode(x)
        self.net.eval()
        parts = torch.split(codes, self.rows_at_once)
        return torch.cat([self.net(self.quantiser.decode(part)) for part in parts])

    def kept(self) -> dict[str, Tensor]:
        """Return the codebooks."""
        return {"centroids": self.quantiser.centroids}


def balanced(y: Tensor, count: int, random: torch.Generator) -> Tensor:
    """Return `count` rows, drawn in turns from all classes until none is left.

    Examples
    --------
    >>> y = torch.tensor([0, 0, 0, 0, 0, 1, 2, 2])
    >>> y[balanced(y, 5, torch.Generator())].bincount().tolist()
    [2, 1, 2]
    """
    order = torch.randperm(len(y), generator=random).to(y.device)
    turn = torch.zeros_like(y)
    for code in torch.unique(y):
        rows = order[y[order] == code]
        turn[rows] = torch.arange(len(rows), device=y.device)
    return turn.argsort(stable=True)[:count]


def cropped(maps: Tensor, random: torch.Generator) -> Tensor:
    """Cut a random part out of each map, and stretch it to the size of the whole.

    Examples
    --------
    >>> found = cropped(torch.arange(4.0).expand(3, 1, 4, 4), torch.Generator().manual_seed(0))
    >>> found.shape, bool((found.diff(dim=3) >= 0).all())
    (torch.Size([3, 1, 4, 4]), True)
    """
    area, ratio, right, down = torch.rand(4, len(maps), generator=random).to(maps.device)
    area = LEAST_AREA + (1 - LEAST_AREA) * area
    ratio = torch.exp((2 * ratio - 1) * math.log(LARGEST_RATIO))
    width, height = (torch.sqrt(each).clamp(max=1) for each in (area * ratio, area / ratio))
    theta = torch.zeros(len(maps), 2, 3, device=maps.device)
    theta[:, 0, 0], theta[:, 0, 2] = width, (1 - width) * (2 * right - 1)
    theta[:, 1, 1], theta[:, 1, 2] = height, (1 - height) * (2 * down - 1)
    grid = nn.functional.affine_grid(theta, list(maps.shape), align_corners=False)
    return nn.functional.grid_sample(maps, grid, padding_mode="border", align_corners=False)


METHOD = Method(
    name="remind",
    module=__name__,
    learner="REMIND",
    family="rehearsal",
    backbones=True,
    needs="FILE.safetensors",
    finetunes=True,
    tunable=True,
    keeps="codes of feature maps, 5.98 MB, and their codebooks",
    reference="Hayes et al., REMIND Your Neural Network to Prevent Catastrophic Forgetting, "
    "ECCV 2020",
    without={"megabytes": 0.0},
    grid={"tuned_rate": [0.005, 0.02, 0.05]},
)
