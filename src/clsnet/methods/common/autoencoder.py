"""A classifier and a variational autoencoder that share an encoder."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from torch import Tensor, nn

from clsnet.methods.common.network import Perceptron


class ClassifyingAutoencoder(Perceptron):
    """The perceptron, a latent space behind its last hidden layer, and a way back to the inputs.

    Parameters
    ----------
    n_inputs, hidden
        Of the perceptron; the decoder has the same layers in reverse.
    latent
        Number of latent variables.

    Examples
    --------
    >>> import torch
    >>> net = ClassifyingAutoencoder(784, hidden=(90, 60), latent=20)
    >>> net.grow(2)
    >>> scores, mean, log_variance = net.encode(torch.zeros(5, 784))
    >>> scores.shape, mean.shape, net.decode(mean).shape
    (torch.Size([5, 2]), torch.Size([5, 20]), torch.Size([5, 784]))
    """

    def __init__(self, n_inputs: int, hidden: Sequence[int], latent: int) -> None:
        super().__init__(n_inputs, hidden)
        self.mean = nn.Linear(self.head.in_features, latent)
        self.log_variance = nn.Linear(self.head.in_features, latent)
        widths = [latent, *reversed(hidden), n_inputs]
        self.decoder = nn.ModuleList(nn.Linear(*pair) for pair in itertools.pairwise(widths))

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the scores, and mean and log variance of the latent variables."""
        features = self.features(x)
        return self.head(features), self.mean(features), self.log_variance(features)

    def decode(self, z: Tensor, gates: Sequence[Tensor] | None = None) -> Tensor:
        """Return reconstructed inputs, before a sigmoid if there is one.

        Parameters
        ----------
        z
            Latent variables.
        gates
            Factors of the units of each hidden layer, sample by sample; None: all 1.
        """
        for i, layer in enumerate(self.decoder):
            z = layer(z)
            if i < len(self.decoder) - 1:
                z = (z if gates is None else z * gates[i]).relu()
        return z
