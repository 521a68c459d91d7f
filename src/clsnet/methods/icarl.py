"""Incremental classifier and representation learning."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from clsnet.methods.common.herding import Herding
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method


class ICaRL(Herding):
    """Classify by the nearest mean of exemplars, in the features of the current network.

    The network is trained on the task and all exemplars, with one sigmoid per class. New classes
    have labels as targets; old classes have the outputs of the network before the task, for every
    sample. Exemplars are herded: each brings the mean of those chosen nearest to the mean of the
    class. Means and features are of unit length.

    As in the released code the rate falls to a fifth after seven, and again after nine, tenths of
    the epochs. There are 70 of these, the entropy is a mean over classes, and the rate is 2; here
    it is a sum over classes. The release averages features with those of the mirror image.

    Parameters
    ----------
    momentum, weight_decay
        Of the gradient descent.
    distillation
        Whether old classes have the outputs of the network before the task as targets; without,
        labels.
    options
        As for `Rehearsal`.

    References
    ----------
    S.-A. Rebuffi et al., "iCaRL: Incremental Classifier and Representation Learning", CVPR 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ICaRL(budget=200, hidden=(32, 32), epochs=6, batch_size=20, device="cpu")
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])
    >>> bool((model.predict(X / 16) == y).mean() > 0.85)
    True
    """

    tunable = True
    epochs = 10
    learning_rate = 0.05
    momentum: float = option(0.9, least=0, most=1)
    weight_decay: float = option(1e-5, least=0)
    distillation: bool = option(True)

    def optimiser(self) -> torch.optim.Optimizer:
        """Return gradient descent with momentum."""
        return torch.optim.SGD(
            self.net.parameters(),
            lr=self.rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
        )

    def schedule(self, epoch: int) -> float:
        """Fall to a fifth twice."""
        return float(0.2 ** sum(epoch >= share * self.epochs for share in (0.7, 0.9)))

    def start_task(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Train on the samples of the task and on all exemplars."""
        return self.replayed(X, y)

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the binary entropies of all classes, with old outputs as targets of old ones."""
        scores = self.net(x)
        targets = nn.functional.one_hot(y, scores.shape[1]).to(scores)
        if self.old_net is not None and self.distillation:
            with torch.no_grad():
                targets[:, : self.new.start] = self.old_net(x).sigmoid()
        entropies = nn.functional.binary_cross_entropy_with_logits(scores, targets, reduction="sum")
        return entropies / len(y)

    def end_task(self, X: Tensor, y: Tensor) -> None:
        """Choose the exemplars, and take their means; without any, the head answers."""
        super().end_task(X, y)
        assert self.exemplars is not None
        self.means = torch.zeros(0, device=self.device_)
        if len(self.exemplars):
            unit = nn.functional.normalize(self.features(self.exemplars.X))
            codes = range(len(self.labels))
            means = torch.stack([unit[self.exemplars.y == code].mean(dim=0) for code in codes])
            self.means = nn.functional.normalize(means)

    @torch.no_grad()
    def scores(self, x: Tensor) -> Tensor:
        """Return the cosines with the means, which order classes as distances do."""
        if not len(self.means):
            return self.net_scores(x)
        return nn.functional.normalize(self.features(x)) @ self.means.T

    def kept(self) -> dict[str, Tensor]:
        """Return the mean of each class."""
        return {"means": self.means}


METHOD = Method(
    name="icarl",
    module=__name__,
    learner="ICaRL",
    family="rehearsal",
    backbones=True,
    tunable=True,
    keeps="2,000 samples and one mean per class",
    reference="Rebuffi et al., iCaRL: Incremental Classifier and Representation Learning, "
    "CVPR 2017",
    without={"budget": 0},
    grid={"learning_rate": [0.01, 0.02, 0.05]},
)
