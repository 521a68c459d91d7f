"""Replay through feedback."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from clsnet.methods.common.autoencoder import ClassifyingAutoencoder
from clsnet.methods.common.trainer import Trainer
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method


class RtF(Trainer):
    """Generate samples of old classes with feedback connections of the classifier itself.

    The classifier is also the encoder of a variational autoencoder. While a task is learned, the
    network as it was before generates a sample for each new one: latent variables are drawn from
    a standard normal distribution and decoded. Its own scores are the labels, softened by a
    temperature. No sample is stored, and between tasks there is one network.

    The loss of a batch is reconstruction, the mean over inputs, plus the divergence from the
    standard normal over the number of inputs, plus the cross-entropy over all classes seen. In
    task t the new batch has weight 1 / t, and the generated one the rest. For pixels, which lie
    between 0 and 1, reconstruction is measured by binary cross-entropy; for features of a frozen
    network and other vectors, by the squared error.

    The released code trains a network of 400 units a layer by 2,000 batches a task and keeps the
    state of Adam from task to task. Here the network has the width of the other methods, Adam
    starts anew, and 14 epochs make 1,316 batches of a task of 12,000 samples, to save time; 21
    epochs are about as many as the release has.

    Parameters
    ----------
    latent
        Number of latent variables.
    temperature
        Of the labels of generated samples.
    replay
        Whether samples are generated; without, it is fine-tuning.
    options
        As for `Trainer`.

    References
    ----------
    G. M. van de Ven and A. S. Tolias, "Generative replay with feedback connections as a general
    strategy for continual learning", arXiv:1809.10635, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> small = {"hidden": (100,), "latent": 20, "epochs": 8, "batch_size": 20, "device": "cpu"}
    >>> model = RtF(learning_rate=0.003, **small)
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])
    >>> bool((model.predict(X / 16) == y).mean() > 0.7)
    True
    """

    epochs = 14
    batch_size = 128
    learning_rate = 1e-3
    latent: int = option(100, least=1)
    temperature: float = option(2.0, above=0)
    replay: bool = option(True)

    net: ClassifyingAutoencoder
    old_net: ClassifyingAutoencoder | None = None

    def new_network(self, n_outputs: int) -> ClassifyingAutoencoder:
        """Return a network with new weights."""
        net = ClassifyingAutoencoder(self.n_inputs, self.hidden, self.latent).to(self.device_)
        net.grow(n_outputs)
        return net

    def optimiser(self) -> torch.optim.Optimizer:
        """Return Adam, for all of the network."""
        return torch.optim.Adam(self.net.parameters(), lr=self.learning_rate, fused=True)

    def start_task(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """See by the first task whether inputs are pixels, with values from 0 to 1."""
        if self.task == 0:
            self.pixels = self.backbone is None and bool((X.min() >= 0) & (X.max() <= 1))
        return X, y

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the loss on a batch of the task and on as many generated samples."""
        scores, current = self.generative_loss(x, nn.functional.one_hot(y, len(self.labels)).to(x))
        current = current + nn.functional.cross_entropy(scores, y)
        if self.old_net is None or not self.replay:
            return current
        x, labels = self.generated(len(x), self.old_net)
        scores, replayed = self.generative_loss(x, labels)
        distillation = nn.functional.cross_entropy(scores / self.temperature, labels)
        replayed = replayed + self.temperature**2 * distillation
        share = 1 / (self.task + 1)
        return share * current + (1 - share) * replayed

    def generative_loss(self, x: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scores, and the loss of reconstruction and latent variables.

        Parameters
        ----------
        x
            Samples.
        labels
            A probability of each class, for each sample.
        """
        scores, mean, log_variance = self.net.encode(x)
        z = mean + (0.5 * log_variance).exp() * self.normal(len(x))
        decoded = self.net.decode(z, self.gates(labels))
        if self.pixels:
            # A later task may have brighter pixels than the first.
            error = nn.functional.binary_cross_entropy_with_logits(decoded, x.clamp(0, 1))
        else:
            error = nn.functional.mse_loss(decoded, x)
        divergence = self.divergence(z, mean, log_variance, labels).mean()
        return scores, error + divergence / self.n_inputs

    @torch.no_grad()
    def generated(self, n: int, net: ClassifyingAutoencoder) -> tuple[Tensor, Tensor]:
        """Return samples that a network generates, and their probabilities of all classes."""
        z, labels = self.drawn(n, net)
        x = net.decode(z, self.gates(labels))
        x = x.sigmoid() if self.pixels else x
        soft = nn.functional.softmax(net(x) / self.temperature, dim=1)
        return x, nn.functional.pad(soft, (0, len(self.labels) - soft.shape[1]))

    def normal(self, n: int) -> Tensor:
        """Return standard normal numbers, as many for a sample as there are latent variables."""
        return torch.randn(n, self.latent, generator=self.random).to(self.device_)

    def drawn(self, n: int, net: ClassifyingAutoencoder) -> tuple[Tensor, Tensor]:
        """Return latent variables drawn from the prior, and labels, of which there are none."""
        return self.normal(n), torch.zeros(n, len(self.labels), device=self.device_)

    def divergence(self, z: Tensor, mean: Tensor, log_variance: Tensor, labels: Tensor) -> Tensor:
        """Return the Kullback-Leibler divergence of each sample's latent variables."""
        return 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(dim=1)

    def gates(self, labels: Tensor) -> Sequence[Tensor] | None:
        """Return the factors of the decoder's units; here all are 1."""
        return None


METHOD = Method(
    name="rtf",
    module=__name__,
    learner="RtF",
    family="rehearsal",
    backbones=True,
    keeps="the network, which generates samples",
    reference="van de Ven & Tolias, Generative replay with feedback connections as a general "
    "strategy for continual learning, arXiv:1809.10635, 2018",
    paper="RtF",
    without={"replay": False},
    grid={"epochs": [7, 14, 21]},
)
