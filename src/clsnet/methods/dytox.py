"""Dynamic token expansion."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from clsnet.errors import ClsnetError
from clsnet.images import Samples
from clsnet.methods.common.attention import AttentionBlock, patches
from clsnet.methods.common.phase import Phase
from clsnet.methods.common.rehearsal import Rehearsal
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method

TUNING_RATE = 0.1  # of the learning rate, in the balanced phase
DIVERSITY = 0.1
WEIGHT_DECAY = 1e-6
ROWS = 512


class TokenNetwork(nn.Module):
    """A shared encoder of patches, one attention block, and a token with a head for each task.

    Parameters
    ----------
    image
        Channels, height and width.
    side, width, heads, hidden
        Of a patch, of a token, of the attention, and of the hidden layer of each block.

    Examples
    --------
    >>> net = TokenNetwork((1, 8, 8), side=4, width=8, heads=2, hidden=(16, 16))
    >>> net.grow(2)
    >>> net.grow(5)
    >>> net(torch.zeros(7, 64)).shape, len(net.tokens)
    (torch.Size([7, 5]), 2)
    """

    def __init__(
        self, image: Sequence[int], side: int, width: int, heads: int, hidden: Sequence[int]
    ) -> None:
        super().__init__()
        self.image, self.side, self.width = tuple(image), side, width
        _, n_patches, n_numbers = patches(torch.zeros(1, *self.image), side).shape
        self.embedding = nn.Linear(n_numbers, width)
        self.places = nn.Parameter(0.02 * torch.randn(1, n_patches, width))
        self.blocks = nn.ModuleList(AttentionBlock(width, heads, each) for each in hidden)
        self.task_block = AttentionBlock(width, heads, 4 * width)
        self.tokens = nn.ParameterList()
        self.heads = nn.ModuleList()
        self.n_outputs = 0

    def grow(self, n_outputs: int) -> None:
        """Add one token, and a head that completes the outputs."""
        if n_outputs > self.n_outputs:
            device = self.places.device
            self.tokens.append(nn.Parameter(0.02 * torch.randn(1, 1, self.width).to(device)))
            self.heads.append(classifier(self.width, n_outputs - self.n_outputs).to(device))
            self.n_outputs = n_outputs

    def encoder(self) -> list[nn.Parameter]:
        """Return the weights that turn an image into tokens."""
        return [self.places, *self.embedding.parameters(), *self.blocks.parameters()]

    def embed(self, x: Tensor) -> list[Tensor]:
        """Return each task's token after it has attended to the patches."""
        seen = self.embedding(patches(x.view(-1, *self.image), self.side)) + self.places
        for block in self.blocks:
            seen = block(seen, seen)
        asking = [token.expand(len(x), -1, -1) for token in self.tokens]
        return [self.task_block(token, torch.cat([token, seen], 1))[:, 0] for token in asking]

    def classify(self, embedded: Sequence[Tensor]) -> Tensor:
        """Return the scores of every head, one behind the other."""
        return torch.cat([head(e) for head, e in zip(self.heads, embedded, strict=True)], dim=1)

    def forward(self, x: Tensor) -> Tensor:
        """Return one score per class."""
        return self.classify(self.embed(x))


class DyTox(Rehearsal):
    """Learn one token per task, which attends to the shared tokens of an image.

    A transformer turns patches of the image into tokens. One more attention block is run once per
    task: the task's learned token asks the image, and a head of its own turns the answer into
    scores of the task's classes. While a task is learned, the tokens and heads of old tasks are
    frozen; the rest learns from the task and the exemplars by a binary cross-entropy over all
    classes, and by distillation of the old scores. The share of the distillation is that of the
    classes that the task does not have. A second head on the new token tells the new classes and
    "an old one" apart; it is dropped after the task. Last, with the encoder frozen, heads, new
    token and task block are tuned on the exemplars, equally many of each class.

    The authors' encoder has five ConViT blocks of width 384 and learns for 500 epochs; this one
    has two plain blocks of width 96, learns for 5, and its convolution-like start is left out.
    Their code lets old tokens change in the last phase; here they never do. Given a backbone, the
    image is its pooled features, cut into tokens of ``patch * patch`` numbers; the last map would
    be tokens nearer to the paper's, but exemplars of it would be 64 times as large.

    Parameters
    ----------
    hidden
        Width of the hidden layer of each block of the encoder; there are as many blocks.
    patch
        Side length of a patch.
    width, heads
        Of a token, and of the attention.
    tuning_epochs
        Of the balanced phase.
    budget
        Number of exemplars in all, chosen at random.
    options
        As for `Trainer`.

    References
    ----------
    A. Douillard et al., "DyTox: Transformers for Continual Learning with DYnamic TOken eXpansion",
    CVPR 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits().images / 16, load_digits().target
    >>> small = {"hidden": (32,), "width": 16, "patch": 4, "epochs": 8, "batch_size": 30}
    >>> model = DyTox(budget=200, learning_rate=0.003, **small, tuning_epochs=8, device="cpu")
    >>> for first in (0, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task], y[task])
    >>> bool((model.predict(X[y < 4]) == y[y < 4]).mean() > 0.85)
    True
    >>> len(model.net.tokens)
    2
    """

    hidden = (384, 384)
    epochs = 5
    batch_size = 128
    learning_rate = 5e-4
    patch: int = option(7, least=1)
    width: int = option(96, least=1)
    heads: int = option(4, least=1)
    tuning_epochs: int = option(5, least=0)

    divergence: nn.Module | None = None  # while a later task is learned

    def check_parameters(self) -> None:
        """Raise an error if an option has a bad value; nothing is learned."""
        super().check_parameters()
        if self.width % self.heads:
            raise ClsnetError(f"width={self.width} is not a multiple of heads={self.heads}.")

    def as_input(self, X: Samples) -> Tensor:
        """Remember the shape of flattened images; a vector is an image of one row."""
        x = super().as_input(X)
        shape = X.shape if self.backbone is None else x.shape
        self.image = (1, 1, 1, *shape[1:])[-3:]
        return x

    def new_network(self, n_outputs: int) -> TokenNetwork:  # type: ignore[override]
        """Return a network with new weights."""
        net = TokenNetwork(self.image, self.patch, self.width, self.heads, self.hidden)
        net.to(self.device_).grow(n_outputs)
        return net

    def fit_task(self, X: Tensor, y: Tensor) -> None:
        """Learn the task with old tokens and heads frozen, then tune on the exemplars."""
        self.n_absent = len(self.labels) - len(set(y.tolist()))
        n_new = self.new.stop - self.new.start
        if self.task and n_new:
            self.divergence = classifier(self.width, n_new + 1).to(self.device_)
        self.train(*self.replayed(X, y))
        self.divergence = None
        self.end_task(X, y)
        if self.task and self.exemplars is not None:
            loss = Phase(self.tuner(), self.entropy, self.tuning_epochs, self.tuning_schedule)
            self.train(self.exemplars.X, self.exemplars.y, loss)

    def optimiser(self) -> torch.optim.Optimizer:
        """Return one of all weights but the tokens and heads of old tasks."""
        n_old = len(self.old_net.tokens) if self.old_net is not None else 0
        parameters = [*self.net.encoder(), *self.net.task_block.parameters()]
        parameters += [*self.net.tokens[n_old:], *self.net.heads[n_old:].parameters()]
        parameters += self.divergence.parameters() if self.divergence is not None else []
        return torch.optim.AdamW(parameters, self.learning_rate, weight_decay=WEIGHT_DECAY)

    def tuner(self) -> torch.optim.Optimizer:
        """Return one of the task block, the new token and all heads."""
        parameters = [*self.net.task_block.parameters(), *self.net.heads.parameters()]
        parameters += self.net.tokens[len(self.old_net.tokens) :]
        rate = TUNING_RATE * self.learning_rate
        return torch.optim.AdamW(parameters, rate, weight_decay=WEIGHT_DECAY)

    def schedule(self, epoch: int) -> float:
        """Fall along half a cosine."""
        return cosine(epoch, self.epochs)

    def tuning_schedule(self, epoch: int) -> float:
        """Fall along half a cosine."""
        return cosine(epoch, self.tuning_epochs)

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropy, with the distillation of old scores and the second head."""
        embedded = self.net.embed(x)
        scores = self.net.classify(embedded)
        loss = binary_entropy(scores, y)
        if self.old_net is not None:
            share, old = self.n_absent / len(self.labels), self.old_net(x)
            now, before = (s.log_softmax(dim=1) for s in (scores[:, : old.shape[1]], old))
            distilled = nn.functional.kl_div(now, before, reduction="none", log_target=True).mean()
            loss = (1 - share) * loss + share * distilled
        if self.divergence is not None:
            kinds = (y + 1 - self.new.start).clamp(min=0)  # 0 is an old class
            apart = nn.functional.cross_entropy(self.divergence(embedded[-1]), kinds)
            loss = loss + DIVERSITY * apart
        return loss

    def entropy(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropy alone."""
        return binary_entropy(self.net(x), y)

    @torch.no_grad()
    def scores(self, x: Tensor) -> Tensor:
        """Return the scores by which classes are chosen."""
        self.net.eval()
        return torch.cat([self.net(part) for part in torch.split(x, ROWS)])


def classifier(width: int, n_outputs: int) -> nn.Sequential:
    """Return a head: normalise, then one output per class."""
    return nn.Sequential(nn.LayerNorm(width), nn.Linear(width, n_outputs))


def binary_entropy(scores: Tensor, y: Tensor) -> Tensor:
    """Return the binary cross-entropy, averaged over all classes."""
    targets = nn.functional.one_hot(y, scores.shape[1]).to(scores)
    return nn.functional.binary_cross_entropy_with_logits(scores, targets)


def cosine(epoch: int, epochs: int) -> float:
    """Return a factor that falls from 1 to 0 along half a cosine.

    Examples
    --------
    >>> [round(cosine(epoch, 4), 2) for epoch in range(4)]
    [1.0, 0.85, 0.5, 0.15]
    """
    return (1 + math.cos(math.pi * epoch / epochs)) / 2


METHOD = Method(
    name="dytox",
    module=__name__,
    learner="DyTox",
    family="architecture",
    backbones=True,
    keeps="2,000 samples, and a token and a head per task",
    reference="Douillard et al., DyTox: Dynamic Token Expansion, CVPR 2022",
    without={"budget": 0},
    grid={"learning_rate": [0.0005, 0.002]},
)
