"""Memory aware synapses."""

from __future__ import annotations

import torch
from torch import Tensor

from clsnet.methods.common.penalty import TUNED_CHUNK, Penalty, summed_gradients
from clsnet.methods.registry import Method

CHUNK = 2000


class MAS(Penalty):
    """Pull each weight back to its old value, as strongly as the network's outputs depend on it.

    The importance is the mean over samples of the modulus of the gradient of the squared length of
    the outputs; no labels are needed. Importances of tasks add up; the centre is where the last
    task ended.

    Paper and released code differ: the paper takes the modulus sample by sample, the code the
    modulus of a batch's summed gradient. The paper is followed.

    Parameters
    ----------
    strength
        The paper's lambda.
    options
        As for `Penalty`.

    References
    ----------
    R. Aljundi et al., "Memory Aware Synapses: Learning what (not) to forget", ECCV 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MAS(hidden=(32, 32), epochs=3, batch_size=20, device="cpu")
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])

    With a softmax over all classes, it forgets nearly as much as fine-tuning does.

    >>> bool((model.predict(X / 16) == y).mean() < 0.5)
    True
    """

    tunable = True

    def end_task(self, X: Tensor, y: Tensor) -> None:
        """Add the task's importances."""
        self.remember(self.sensitivity(X))

    def sensitivity(self, X: Tensor) -> dict[str, Tensor]:
        """Return how much the squared length of the outputs depends on each weight."""
        total = {name: torch.zeros_like(w) for name, w in self.net.named_parameters()}
        for x in torch.split(X, TUNED_CHUNK if self.tuned else CHUNK):
            parts = summed_gradients(self.net, x, self.squared_length, torch.abs)
            for name, part in parts.items():
                total[name] += part / len(X)
        return total

    def squared_length(self, scores: Tensor) -> Tensor:
        """Return the squared length of the outputs that the task is learned on."""
        return self.learned(scores).square().sum()


METHOD = Method(
    name="mas",
    module=__name__,
    learner="MAS",
    family="regularisation",
    backbones=True,
    tunable=True,
    keeps="importance and last value of every weight",
    reference="Aljundi et al., Memory Aware Synapses: Learning what (not) to forget, ECCV 2018",
    paper="MAS",
    without={"strength": 0.0},
    grid={"strength": [1e-2, 1e-1, 1.0, 1e1]},
)
