"""Incremental learning with dual memory."""

from __future__ import annotations

import torch
from torch import Tensor

from clsnet.methods.common.rehearsal import Rehearsal
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method


class IL2M(Rehearsal):
    """Fine-tune on the task and the exemplars; rescale the scores of old classes with statistics.

    A class is known best when it is new: its mean score at that time is kept, and the network's
    mean top score on the new classes of that time, its confidence. When a sample is predicted as
    one of the newest classes, the score of each old class is multiplied by (its mean score when
    new / its mean score now) and by (confidence now / confidence when it was new). The mean score
    now is that of its exemplars; a class without any is taken to score as when it was new. Scores
    are the network's outputs before any softmax, as in the released code.

    As in the released code, gradient descent has momentum and weight decay, and task t starts at
    the rate over t. There the rate falls to a tenth after five epochs without a better loss, of
    35, and the epoch that is best on test data is kept; here it falls after half and after three
    quarters of the epochs, and the last one is kept. The rate is half of theirs, with which this
    network, which has no normalisation, diverged on features of a frozen one.

    Exemplars are a random choice, as the released lists do not say how they were made. A network
    that is fine-tuned grows its head; the released code draws a new one.

    Parameters
    ----------
    momentum, weight_decay
        Of the gradient descent.
    rescaling
        Whether scores are rescaled; without, it is plain rehearsal.
    options
        As for `Rehearsal`.

    References
    ----------
    E. Belouadah and A. Popescu, "IL2M: Class Incremental Learning With Dual Memory", ICCV 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = IL2M(budget=200, hidden=(32, 32), batch_size=20, device="cpu")
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])
    >>> bool((model.predict(X / 16) == y).mean() > 0.85)
    True
    """

    tunable = True
    epochs = 20
    learning_rate = 0.05
    momentum: float = option(0.9, least=0, most=1)
    weight_decay: float = option(1e-4, least=0)
    rescaling: bool = option(True)

    def start(self) -> None:
        """Have no statistics yet."""
        self.mean_when_new = torch.zeros(0, device=self.device_)
        self.confidence_when_new = torch.zeros(0, device=self.device_)
        self.factors = torch.zeros(0, device=self.device_)

    def optimiser(self) -> torch.optim.Optimizer:
        """Return gradient descent with momentum, at the rate over the number of the task."""
        return torch.optim.SGD(
            self.net.parameters(),
            lr=self.rate / (self.task + 1),
            momentum=self.momentum,
            weight_decay=self.weight_decay,
        )

    def schedule(self, epoch: int) -> float:
        """Fall to a tenth after half of the epochs, to a hundredth after three quarters."""
        done = epoch / self.epochs
        return 1.0 if done < 0.5 else 0.1 if done < 0.75 else 0.01

    def start_task(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Train on the samples of the task and on all exemplars."""
        return self.replayed(X, y)

    def end_task(self, X: Tensor, y: Tensor) -> None:
        """Take the statistics of new classes, and of old ones from their exemplars."""
        x, codes = self.replayed(X, y)
        scores = self.net_scores(x)
        own, top = scores.gather(1, codes[:, None])[:, 0], scores.amax(dim=1)
        means = torch.stack([own[codes == code].mean() for code in range(len(self.labels))])
        # A task that brings no class is as confident as it is about everything.
        new = codes >= self.new.start if self.new.start < self.new.stop else codes >= 0
        confidence = top[new].mean().expand(len(self.labels))
        self.mean_when_new = torch.cat([self.mean_when_new, means[self.new]])
        self.confidence_when_new = torch.cat([self.confidence_when_new, confidence[self.new]])
        means = torch.where(means.isnan(), self.mean_when_new, means)
        self.factors = self.mean_when_new / means * confidence / self.confidence_when_new
        super().end_task(X, y)

    @torch.no_grad()
    def scores(self, x: Tensor) -> Tensor:
        """Return the scores, rescaled where a new class is on top; a new class's factor is 1."""
        scores = super().scores(x)
        if not self.rescaling:
            return scores
        top_is_new = scores.argmax(dim=1, keepdim=True) >= self.new.start
        return torch.where(top_is_new, scores * self.factors, scores)

    def kept(self) -> dict[str, Tensor]:
        """Return the second memory: three numbers per class."""
        return {
            "mean_when_new": self.mean_when_new,
            "confidence_when_new": self.confidence_when_new,
            "factors": self.factors,
        }


METHOD = Method(
    name="il2m",
    module=__name__,
    learner="IL2M",
    family="rehearsal",
    backbones=True,
    tunable=True,
    keeps="2,000 samples and three numbers per class",
    reference="Belouadah & Popescu, IL2M: Class Incremental Learning With Dual Memory, ICCV 2019",
    paper="IL2M",
    without={"rescaling": False},
    grid={"learning_rate": [0.02, 0.05, 0.1]},
)
