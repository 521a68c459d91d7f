"""Feature boosting and compression."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from clsnet.methods.common.phase import Phase
from clsnet.methods.common.trunks import TrunkTrainer, cosine
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method


class FOSTER(TrunkTrainer):
    """Train a new trunk on what the old network gets wrong, then compress both into one network.

    While a task is learned, the old trunk is frozen and a new one stands beside it. The loss is
    the cross-entropy of scores that are divided by class weights, so that rare classes need larger
    ones, that of an auxiliary head on the new trunk alone, and the distillation of the old
    network's scores. Then a network with one trunk, which starts as the old one, learns the soft
    answers of both trunks, multiplied by class weights. It is what predicts: the compressed
    network of the paper. Its figures are those of two trunks if memory is twice as large.

    A class with n training samples has the weight (1 - b) / (1 - b^n); weights have mean one. The
    released code lists one b per task, and counts 500 samples of every new class; here b is the
    same for all tasks, and samples are counted. The release's b of 0.97 in both phases is for 500
    samples a class; that of compression is larger here, as classes have thousands (chosen on
    held-out training images of Fashion-MNIST). The release trains 170 epochs and compresses for
    130; here there are fewer.

    Parameters
    ----------
    compression_epochs
        To learn the answers of both trunks.
    temperature
        Of both distillations.
    boosting_beta, compression_beta
        The b of both phases.
    options
        As for `TrunkTrainer`.

    References
    ----------
    F.-Y. Wang et al., "FOSTER: Feature Boosting and Compression for Class-Incremental Learning",
    ECCV 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> small = {"hidden": (64, 64), "epochs": 8, "compression_epochs": 8, "batch_size": 20}
    >>> model = FOSTER(budget=200, compression_beta=0.97, device="cpu", **small)
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])
    >>> bool((model.predict(X / 16) == y).mean() > 0.8)
    True
    >>> len(model.net.trunks)
    1
    """

    epochs = 8
    compression_epochs: int = option(6, least=0)
    temperature: float = option(2.0, above=0)
    boosting_beta: float = option(0.97, least=0, most=1)
    compression_beta: float = option(0.998, least=0, most=1)

    def fit_task(self, X: Tensor, y: Tensor) -> None:
        """Boost, compress and choose exemplars."""
        x, codes = self.replayed(X, y)
        if self.task:
            self.counts = torch.bincount(codes, minlength=len(self.labels))
            self.boost(x, codes)
            self.compress(x, codes)
        else:
            self.train(x, codes)
        self.end_task(X, y)

    def boost(self, x: Tensor, y: Tensor) -> None:
        """Train a trunk beside the old one."""
        self.net.branch()
        self.auxiliary_head = nn.Linear(self.net.width, len(self.labels)).to(self.device_)
        weights = class_weights(self.counts, self.boosting_beta)

        def loss(x: Tensor, y: Tensor) -> Tensor:
            assert self.auxiliary_head is not None
            features = self.net.features(x)
            scores, width = self.net.head(features), self.net.width
            old = self.old_net.head(features[:, :width])
            beside = self.auxiliary_head(features[:, width:])
            return (
                nn.functional.cross_entropy(scores / weights, y)
                + self.auxiliary * nn.functional.cross_entropy(beside, y)
                + self.soft_entropy(scores[:, : old.shape[1]], self.softened(old))
            )

        self.train(x, y, Phase(self.optimiser(), loss, self.epochs, self.schedule))
        self.auxiliary_head = None

    def compress(self, x: Tensor, y: Tensor) -> None:
        """Let one trunk, which starts as the old one, learn the answers of both."""
        teacher = self.net.eval().requires_grad_(False)
        self.net = copy.deepcopy(self.old_net).requires_grad_(True)
        self.net.grow(len(self.labels))
        weights = class_weights(self.counts, self.compression_beta)

        def loss(x: Tensor, y: Tensor) -> Tensor:
            targets = self.softened(teacher(x)) * weights
            return self.soft_entropy(self.net(x), targets / targets.sum(dim=1, keepdim=True))

        epochs = self.compression_epochs
        optimiser = self.descent(self.net.parameters(), self.rate)
        self.train(x, y, Phase(optimiser, loss, epochs, lambda epoch: cosine(epoch / epochs)))

    def softened(self, scores: Tensor) -> Tensor:
        """Return soft answers, as targets."""
        return (scores.detach() / self.temperature).softmax(dim=1)

    def soft_entropy(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Return the cross-entropy with soft targets."""
        return nn.functional.cross_entropy(scores / self.temperature, targets)


def class_weights(counts: Tensor, beta: float) -> Tensor:
    """Return the inverse of each class's effective number of samples, with mean one.

    Examples
    --------
    >>> [round(weight, 2) for weight in class_weights(torch.tensor([1, 1000]), 0.9).tolist()]
    [1.82, 0.18]
    """
    if beta == 1:
        weights = 1 / counts.clamp(min=1)
    else:
        weights = (1 - beta) / (1 - beta ** counts.clamp(min=1).float())
    return weights / weights.mean()


METHOD = Method(
    name="foster",
    module=__name__,
    learner="FOSTER",
    family="architecture",
    backbones=True,
    tunable=True,
    keeps="2,000 samples; one trunk, two while a task is learned",
    reference="Wang et al., FOSTER: Feature Boosting and Compression for Class-Incremental "
    "Learning, ECCV 2022",
    paper="FOSTER",
    without={"budget": 0},
    grid={"learning_rate": [0.02, 0.05, 0.1]},
)
