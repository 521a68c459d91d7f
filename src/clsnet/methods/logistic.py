"""Multinomial logistic regression on the features of all tasks so far."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from clsnet.arrays.devices import Array, device_of, namespace, to_device, to_numpy
from clsnet.arrays.linalg import cholesky, diagonal, double, eigh, indices, solve_lower, take
from clsnet.classifier.sums import Label, Sums
from clsnet.memory import MEGABYTE, MemoryUse
from clsnet.methods.common.closed_form import ClosedForm, positive
from clsnet.methods.registry import Method
from clsnet.model import ROWS

PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
HELD_OUT = 0.2
ITERATIONS = 200
NULL = 1e-10  # an eigenvalue this small, relative to the largest, is zero but for rounding
LEAST_GAIN = 1e-5  # of the objective, in one iteration


class Linear(NamedTuple):
    """Scores ``A weights + bias``."""

    weights: Array
    bias: Array

    def __call__(self, A: Array) -> Array:
        """Return one score per sample and class."""
        return double(A @ namespace(A).astype(self.weights, A.dtype)) + self.bias


class Logistic(ClosedForm):
    """Multinomial logistic regression on the features of all samples so far: an upper bound.

    It keeps the features of every sample, and its memory says so. It tells what a linear
    classifier can make of the features that the methods in closed form see. Squared weights are
    penalised, in proportion to the mean variance of features, by the one of five strengths that
    has the least log loss on a fifth of each class when learned from the rest. The optimum is
    found by L-BFGS over all samples at once. The result does not depend on the order of tasks.

    Parameters
    ----------
    penalty
        On squared weights, beside the mean log loss; None chooses it.
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

    def __init__(self, penalty: float | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.penalty = None if penalty is None else positive("penalty", penalty)

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


class LogLoss:
    """The mean log loss of samples, and its minimum with a penalty.

    L-BFGS searches in coordinates in which the objective is round where all classes are equally
    probable. Its curvature there is the covariance of features by the number of classes, plus the
    penalty. In plain coordinates it would need several times as many steps. Weights have a part in
    the space of the samples only; where samples are few, so are the coordinates.
    """

    def __init__(self, A: Array, y: np.ndarray) -> None:
        self.basis = row_space(A) if len(A) < A.shape[1] else None
        self.A = A if self.basis is None else double(A) @ self.basis
        self.y = y
        sums = Sums(self.A.shape[1], device_of(A))
        for start in range(0, len(A), ROWS):
            sums.add(self.A[start : start + ROWS], y[start : start + ROWS])
        self.n_classes = len(sums.counts)
        self.mean = sums.cross(sums.labels).sum(axis=1) / len(A)
        self.covariance = sums.gram / len(A) - self.mean[:, None] * self.mean
        self.variance = float(diagonal(self.covariance).sum()) / A.shape[1] or 1.0

    def minimised(self, penalty: float, model: Linear | None = None) -> Linear:
        """Return the best model, searched for from another one, or from zero."""
        xp = namespace(self.A)
        strength = penalty * self.variance
        lower = xp.tril(cholesky(self.covariance / self.n_classes, strength))

        def at(parameters: np.ndarray) -> Linear:
            values = to_device(parameters.reshape(-1, self.n_classes), device_of(self.A))
            weights = solve_lower(lower, values[:-1], transposed=True)
            return Linear(weights, values[-1] - self.mean @ weights)

        def objective(parameters: np.ndarray) -> tuple[float, np.ndarray]:
            model = at(parameters)
            loss, slopes = cross_entropy(model(self.A), self.y)
            total = slopes.sum(axis=0)
            slope = double(self.A.T @ xp.astype(slopes, self.A.dtype)) - self.mean[:, None] * total
            slope = solve_lower(lower, slope + strength * model.weights)
            value = loss + strength / 2 * float((model.weights**2).sum())
            return value, to_numpy(xp.concat([slope, total[None]])).ravel()

        start = np.zeros((len(lower) + 1) * self.n_classes)
        if model is not None:
            weights = model.weights if self.basis is None else self.basis.T @ model.weights
            bias = model.bias + self.mean @ weights
            start = to_numpy(xp.concat([lower.T @ weights, bias[None]])).ravel()
        options = {"maxiter": ITERATIONS, "ftol": LEAST_GAIN}
        found = at(minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x)
        return found if self.basis is None else Linear(self.basis @ found.weights, found.bias)


def row_space(A: Array) -> Array:
    """Return orthonormal columns that span the rows of a matrix.

    Examples
    --------
    >>> row_space(np.array([[3.0, 0.0, 4.0]])).round(3).tolist()
    [[0.6], [0.0], [0.8]]
    """
    A = double(A)
    squares, U = eigh(A @ A.T)
    some = squares > NULL * squares[-1]
    return A.T @ (U[:, some] / squares[some] ** 0.5)


def in_order(rows: Array) -> Array:
    """Return rows in an order that is the same however they came.

    Examples
    --------
    >>> in_order(np.array([[4.0, 0.0], [1.0, 1.0]]))
    array([[1., 1.],
           [4., 0.]])
    """
    return take(rows, np.argsort(to_numpy(rows.sum(axis=1))))


def cross_entropy(scores: Array, y: np.ndarray) -> tuple[float, Array]:
    """Return the mean log loss of scores, and its derivatives by them.

    Examples
    --------
    >>> loss, slopes = cross_entropy(np.zeros((1, 2)), np.array([1]))
    >>> round(loss, 3), slopes
    (0.693, array([[ 0.5, -0.5]]))
    """
    xp, device = namespace(scores), device_of(scores)
    rows, classes = indices(np.arange(len(y)), device), indices(y, device)
    scores = scores - xp.max(scores, axis=1, keepdims=True)
    parts = xp.exp(scores)
    totals = parts.sum(axis=1)
    loss = float((xp.log(totals) - scores[rows, classes]).sum())
    slopes = parts / totals[:, None]
    slopes[rows, classes] -= 1.0
    return loss / max(len(y), 1), slopes / max(len(y), 1)


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
