"""Dynamically expandable representation."""

from __future__ import annotations

from torch import Tensor, nn

from clsnet.methods.common.phase import Phase
from clsnet.methods.common.trunks import TrunkTrainer
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method


class DER(TrunkTrainer):
    """Add a trunk for every task; one head uses the features of all trunks.

    A new trunk starts as a copy of the last one; the old ones are frozen. An auxiliary head on the
    new trunk alone separates the new classes from each other and from all old ones. Then a new head
    over all trunks is fitted to the exemplars, equally many of each class, with scores divided by a
    temperature.

    The paper prunes trunks with learned masks. Neither the released code nor this class does, so
    memory grows by a whole trunk with every task. The release trains 170 epochs a task from a rate
    of 0.1, which falls twice, and refits the head for 30; here there are fewer, along half a
    cosine. The refit sees features of exemplars as they are, computed once.

    This is not Dark Experience Replay, which has the same abbreviation.

    Parameters
    ----------
    refit_epochs, refit_rate, temperature
        Of the refit of the head; the rate falls to a tenth after half of the epochs.
    options
        As for `TrunkTrainer`.

    References
    ----------
    S. Yan, J. Xie and X. He, "DER: Dynamically Expandable Representation for Class Incremental
    Learning", CVPR 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DER(budget=200, hidden=(32, 32), epochs=5, batch_size=20, device="cpu")
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])
    >>> bool((model.predict(X / 16) == y).mean() > 0.85)
    True
    >>> len(model.net.trunks)
    5
    """

    epochs = 8
    refit_epochs: int = option(30, least=0)
    refit_rate: float = option(0.1, least=0)
    temperature: float = option(5.0, above=0)

    def balance(self) -> None:
        """Fit a new head to the exemplars."""
        if self.exemplars is None or not len(self.exemplars) or not self.refit_epochs:
            return
        features = self.features(self.exemplars.X)
        head = self.net.head = nn.Linear(features.shape[1], len(self.labels)).to(self.device_)

        def loss(x: Tensor, y: Tensor) -> Tensor:
            return nn.functional.cross_entropy(head(x) / self.temperature, y)

        def schedule(epoch: int) -> float:
            return 1.0 if epoch < self.refit_epochs / 2 else 0.1

        optimiser = self.descent(head.parameters(), self.refit_rate)
        phase = Phase(optimiser, loss, self.refit_epochs, schedule, varied=False)
        self.train(features, self.exemplars.y, phase)


METHOD = Method(
    name="der",
    module=__name__,
    learner="DER",
    family="architecture",
    backbones=True,
    tunable=True,
    keeps="2,000 samples and one trunk per task, not pruned",
    reference="Yan et al., DER: Dynamically Expandable Representation for Class Incremental "
    "Learning, CVPR 2021",
    paper="DER",
    variant="without pruning",
    without={"budget": 0},
    grid={"learning_rate": [0.02, 0.05, 0.1]},
)
