"""Multinomial logistic regression on the features of all tasks so far."""

from __future__ import annotations

import numpy as np

from clsnet.arrays.devices import Array, namespace, to_numpy
from clsnet.arrays.linalg import take
from clsnet.classifier.sums import Label
from clsnet.memory import MEGABYTE, MemoryUse
from clsnet.methods.common.closed_form import ClosedForm
from clsnet.methods.common.log_loss import Linear, LogLoss, cross_entropy
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method

PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
HELD_OUT = 0.2


class Logistic(ClosedForm):
    """Multinomial logistic regression on the features of all samples so far: an upper bound.

    It shows what a linear classifier can reach on the features that methods in closed form use, if
    it may keep those of every sample; they count as exemplars. Squared weights are penalised.
    Learned from four fifths of each class, five strengths are tried, the strongest first, until the
    log loss on the last fifth rises. The result does not depend on the order of tasks.

    Parameters
    ----------
    penalty
        As for `LogLoss.minimised`; None chooses it.
    options
        As for `ClosedForm`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits().images, load_digits().target
    >>> model = Logistic(penalty=0.001, device="cpu")
    >>> for task in (y < 5, y >= 5):
    ...     model = model.partial_fit(X[task], y[task])
    >>> bool((model.predict(X) == y).mean() > 0.98)
    True
    """

    solution: Linear
    follows_from_sums = True  # of a set of samples rather, which `solve` puts in order

    penalty: float | None = option(None, above=0)

    def start(self, dimension: int) -> None:
        """Forget all samples."""
        self.rows: dict[Label, Array] = {}

    def learn(self, A: Array, y: np.ndarray) -> None:
        """Keep the features of the task, class by class."""
        for label in np.unique(y).tolist():
            own = take(A, np.flatnonzero(y == label))
            old = [self.rows[label]] if label in self.rows else []
            self.rows[label] = namespace(own).concat([*old, own])

    def solve(self) -> Linear:
        """Choose the penalty, and regress on all samples."""
        rows = [in_order(self.rows[label]) for label in self.labels]
        A = namespace(*rows).concat(rows)
        y = np.repeat(np.arange(len(rows)), [len(own) for own in rows])
        loss = LogLoss(A, y)
        if self.penalty is not None:
            return loss.minimised(self.penalty)
        return loss.minimised(*self.chosen(A, y))

    def chosen(self, A: Array, y: np.ndarray) -> tuple[float, Linear]:
        """Return the penalty that serves a fifth of each class best, and what it led to."""
        random = np.random.default_rng(self.seed)
        held_out = np.zeros(len(y), dtype=bool)
        for code in np.unique(y):
            own = random.permutation(np.flatnonzero(y == code))
            held_out[own[: round(HELD_OUT * len(own))]] = True
        learned = LogLoss(take(A, np.flatnonzero(~held_out)), y[~held_out])
        tested, classes = take(A, np.flatnonzero(held_out)), y[held_out]
        penalty, *weaker = PENALTIES
        model = learned.minimised(penalty)
        least, _ = cross_entropy(model(tested), classes)
        for tried in weaker:
            other = learned.minimised(tried, model)
            loss, _ = cross_entropy(other(tested), classes)
            if loss >= least:
                break
            penalty, model, least = tried, other, loss
        return penalty, model

    @property
    def labels(self) -> list[Label]:
        """Classes seen, sorted."""
        return sorted(self.rows)  # type: ignore[type-var]

    def scores(self, A: Array) -> Array:
        """Return the logarithms of probabilities, less a constant per sample."""
        return self.solution(A)

    def kept(self) -> dict[str, Array]:
        """Return nothing: weights follow from the exemplars."""
        return {}

    def memory(self) -> MemoryUse:
        """Return the size of the extractor, and of all features as exemplars."""
        exemplars = sum(len(own) * own.shape[1] for own in self.rows.values())
        memory = super().memory()
        return MemoryUse(memory.model_mb, 4 * exemplars / MEGABYTE, memory.backbone_mb)


def in_order(rows: Array) -> Array:
    """Return rows in an order that is the same however they came.

    Examples
    --------
    >>> in_order(np.array([[4.0, 0.0], [1.0, 1.0]]))
    array([[1., 1.],
           [4., 0.]])
    """
    return take(rows, np.argsort(to_numpy(rows.sum(axis=1))))


METHOD = Method(
    name="logistic",
    module=__name__,
    learner="Logistic",
    family="bound",
    presets=True,
    backbones=True,
    keeps="the features of all samples",
    reference="upper bound: logistic regression on the features of all data so far",
)
