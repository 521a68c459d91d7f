"""Brain-inspired replay."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from clsnet.methods.common.autoencoder import ClassifyingAutoencoder
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method
from clsnet.methods.rtf import RtF


class BiR(RtF):
    """Generate samples of a chosen old class: replay through feedback, with modes and gates.

    The prior of the latent variables is a mixture of normal distributions, one for each class,
    whose means and variances are learned. So generated samples are of all old classes alike. In
    the decoder a class switches off a fixed random share of the hidden units. A generated sample
    is learned with the soft labels of the old network: its prior is the mixture weighted by them,
    and its gates are the mean of the classes' gates. Generated samples take the place of features
    of a frozen network where there is a `backbone` ("internal replay"), else that of pixels.

    The share of gates is 0.8 in the paper's code for split MNIST and 0.1 in the authors' later
    code; on held-out training data of Fashion-MNIST 0.68 and 0.73, so the latter is taken (one
    order, 6 epochs, layers of 400 units). Both draw gates and modes for all classes there will
    ever be; here they are drawn when a class comes. Length of training as for `RtF`.

    Parameters
    ----------
    mixture
        Whether each class has a distribution of its own.
    gated
        Share of the decoder's hidden units that a class switches off.
    options
        As for `RtF`, which this is without `mixture` and with ``gated=0``.

    References
    ----------
    G. M. van de Ven, H. T. Siegelmann and A. S. Tolias, "Brain-inspired replay for continual
    learning with artificial neural networks", Nature Communications 11, 4069, 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> small = {"hidden": (100,), "latent": 20, "epochs": 8, "batch_size": 20, "device": "cpu"}
    >>> model = BiR(learning_rate=0.003, **small)
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])
    >>> bool((model.predict(X / 16) == y).mean() > 0.7)
    True
    """

    mixture: bool = option(True)
    gated: float = option(0.1, least=0, most=1)

    def start(self) -> None:
        """Have no gates yet."""
        self.masks: list[Tensor] = []  # of each hidden layer of the decoder, a row for each class

    def new_network(self, n_outputs: int) -> ClassifyingAutoencoder:
        """Return a network with new weights, with modes if there are any."""
        if not self.mixture:
            return super().new_network(n_outputs)
        net = MixtureAutoencoder(self.n_inputs, self.hidden, self.latent).to(self.device_)
        net.grow(n_outputs)
        return net

    def start_task(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Draw the gates of new classes."""
        if self.gated > 0:
            masks = self.masks or [
                torch.zeros(0, w, device=self.device_) for w in self.hidden[::-1]
            ]
            self.masks = [torch.cat([mask, self.new_gates(mask.shape[1])]) for mask in masks]
        return super().start_task(X, y)

    def new_gates(self, width: int) -> Tensor:
        """Return 0 for units that a class switches off, and else 1; a row for each new class."""
        draws = torch.rand(self.new.stop - self.new.start, width, generator=self.random)
        return (draws >= self.gated).float().to(self.device_)

    def gates(self, labels: Tensor) -> Sequence[Tensor] | None:
        """Return the gates of each sample, averaged over its classes."""
        return [labels @ mask for mask in self.masks] if self.gated > 0 else None

    def drawn(self, n: int, net: ClassifyingAutoencoder) -> tuple[Tensor, Tensor]:
        """Return latent variables of old classes drawn at random, and these classes."""
        if not self.mixture and self.gated == 0:
            return super().drawn(n, net)
        codes = torch.randint(net.head.out_features, (n,), generator=self.random).to(self.device_)
        z = self.normal(n)
        if isinstance(net, MixtureAutoencoder):
            z = net.mode_means[codes] + (0.5 * net.mode_log_variances[codes]).exp() * z
        return z, nn.functional.one_hot(codes, len(self.labels)).float()

    def divergence(self, z: Tensor, mean: Tensor, log_variance: Tensor, labels: Tensor) -> Tensor:
        """Return the divergence from the classes' modes, estimated at one point for each sample."""
        net = self.net
        if not isinstance(net, MixtureAutoencoder):
            return super().divergence(z, mean, log_variance, labels)
        modes = log_density(z[:, None], net.mode_means, net.mode_log_variances)
        prior = torch.logsumexp(modes + labels.log(), dim=1)
        return log_density(z, mean, log_variance) - prior

    def kept(self) -> dict[str, Tensor]:
        """Return the gates."""
        return {f"gates of layer {i}": mask for i, mask in enumerate(self.masks)}


class MixtureAutoencoder(ClassifyingAutoencoder):
    """An autoencoder with a normal distribution of latent variables for each class."""

    def __init__(self, n_inputs: int, hidden: Sequence[int], latent: int) -> None:
        super().__init__(n_inputs, hidden, latent)
        self.mode_means = nn.Parameter(torch.zeros(0, latent))
        self.mode_log_variances = nn.Parameter(torch.zeros(0, latent))

    def grow(self, n_outputs: int) -> None:
        """Add outputs, and as many modes."""
        super().grow(n_outputs)
        for name in ("mode_means", "mode_log_variances"):
            old = getattr(self, name).detach()
            new = torch.randn(n_outputs - len(old), old.shape[1]).to(old.device)
            setattr(self, name, nn.Parameter(torch.cat([old, new])))


def log_density(z: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
    """Return the logarithm of a normal density, without the constant that all of them share."""
    return -0.5 * (log_variance + (z - mean).square() * (-log_variance).exp()).sum(dim=-1)


METHOD = Method(
    name="bir",
    module=__name__,
    learner="BiR",
    family="rehearsal",
    backbones=True,
    keeps="the network, which generates samples, and gates for each class",
    reference="van de Ven et al., Brain-inspired replay for continual learning with artificial "
    "neural networks, Nature Communications 2020",
    paper="BiR",
    without={"replay": False},
    grid={"gated": [0.1, 0.5, 0.8]},
)
