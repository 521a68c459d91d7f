"""Elastic weight consolidation."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from clsnet.methods.common.penalty import TUNED_CHUNK, Penalty, summed_gradients
from clsnet.methods.registry import Method

CHUNK = 2000


class EWC(Penalty):
    """Pull each weight back to its old value, as strongly as its Fisher information says.

    The Fisher information is the mean over samples of the squared gradient of the network's own
    log-likelihood, sample by sample; the expectation over labels is taken exactly, under the
    network's own prediction, not at the true labels ("empirical Fisher") and not of batch means.
    Where a pretrained network is tuned, one label of each sample is drawn from that prediction.

    As in the paper, there is one penalty per old task, each with its own centre. Up to a constant,
    their sum is one quadratic: the total information, around the mean of the centres weighted by
    it. It is stored in that form, so the memory does not grow with the number of tasks.

    Parameters
    ----------
    strength
        The paper's lambda: the penalty is lambda / 2 times the quadratic.
    options
        As for `Penalty`.

    References
    ----------
    J. Kirkpatrick et al., "Overcoming catastrophic forgetting in neural networks", PNAS 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = EWC(hidden=(32, 32), epochs=3, batch_size=20, device="cpu")
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])

    With a softmax over all classes, it forgets nearly as much as fine-tuning does.

    >>> bool((model.predict(X / 16) == y).mean() < 0.5)
    True
    """

    tunable = True
    strength = 1e3
    factor = 0.5

    def end_task(self, X: Tensor, y: Tensor) -> None:
        """Add the task's Fisher information."""
        self.remember(self.fisher(X))

    def remember(self, importance: dict[str, Tensor]) -> None:
        """Add a task's quadratic: information adds up, centres are averaged with its weight."""
        for name, weight in self.net.named_parameters():
            old = self.grown(self.importance, name)
            total = old + importance[name]
            share = torch.where(total > 0, importance[name] / total, 1.0)
            self.centre[name] = self.grown(self.centre, name).lerp(weight.detach(), share)
            self.importance[name] = total

    def fisher(self, X: Tensor) -> dict[str, Tensor]:
        """Return the diagonal of the Fisher information, averaged over samples."""
        total = {name: torch.zeros_like(w) for name, w in self.net.named_parameters()}
        for x in torch.split(X, TUNED_CHUNK if self.tuned else CHUNK):
            for value in self.likelihoods():
                for name, part in summed_gradients(self.net, x, value, torch.square).items():
                    total[name] += part / len(X)
        return total

    def likelihoods(self) -> Iterator[Callable[[Tensor], Tensor]]:
        """Yield functions of the scores whose squared gradients add up to the expectation."""
        if self.tuned:
            yield self.drawn_likelihood
            return
        for code in range(len(self.own) if self.own_outputs else len(self.labels)):

            def value(scores: Tensor, code: int = code) -> Tensor:
                log_p = self.learned(scores).log_softmax(dim=1)[:, code]
                # Squared, the root becomes the probability: an expectation over labels.
                return (log_p.detach().div(2).exp() * log_p).sum()

            yield value

    def drawn_likelihood(self, scores: Tensor) -> Tensor:
        """Return the log-likelihood of a label of each sample, drawn as the network predicts."""
        log_p = self.learned(scores).log_softmax(dim=1)
        label = torch.multinomial(log_p.detach().exp().cpu(), 1, generator=self.random)
        return log_p.gather(1, label.to(log_p.device)).sum()


METHOD = Method(
    name="ewc",
    module=__name__,
    learner="EWC",
    family="regularisation",
    backbones=True,
    tunable=True,
    keeps="Fisher information and centre of every weight",
    reference="Kirkpatrick et al., Overcoming catastrophic forgetting in neural networks, 2017",
    paper="EWC",
    without={"strength": 0.0},
    grid={"strength": [1e2, 1e3, 1e4, 1e5]},
)
