"""The log loss of linear scores, and its minimum over all samples at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from clsnet.arrays.devices import Array, device_of, namespace, to_device, to_numpy
from clsnet.arrays.linalg import cholesky, diagonal, double, eigh, indices, solve_lower
from clsnet.classifier.sums import RunningSums
from clsnet.model import ROWS

ITERATIONS = 200
LEAST_GAIN = 1e-5  # of the objective, in one iteration
NULL = 1e-10  # an eigenvalue this small, relative to the largest, is zero except for rounding


class Linear(NamedTuple):
    """Scores ``A weights + bias``."""

    weights: Array
    bias: Array

    def __call__(self, A: Array) -> Array:
        """Return one score per sample and class."""
        return double(A @ namespace(A).astype(self.weights, A.dtype)) + self.bias


class LogLoss:
    """The mean log loss of samples, to which squared weights add a penalty.

    L-BFGS minimises both together in coordinates in which their sum is round where all classes are
    equally probable: its curvature there is the covariance of features, divided by the number of
    classes, plus the penalty. In plain coordinates it would take several times as many steps. With
    fewer samples than features, weights are sought in the space that the samples span, which holds
    the optimum.

    Parameters
    ----------
    A
        Features.
    y
        Classes, numbered from 0.

    Examples
    --------
    >>> loss = LogLoss(np.array([[-1.0], [1.0]]), np.array([0, 1]))
    >>> int(loss.minimised(penalty=0.1)(np.array([[2.0]])).argmax())
    1
    """

    def __init__(self, A: Array, y: np.ndarray) -> None:
        self.basis = row_space(A) if len(A) < A.shape[1] else None
        self.A = A if self.basis is None else double(A) @ self.basis
        self.y = y
        sums = RunningSums(self.A.shape[1], device_of(A))
        for start in range(0, len(A), ROWS):
            sums.add(self.A[start : start + ROWS], y[start : start + ROWS])
        self.n_classes = len(sums.counts)
        self.mean = sums.cross(sums.labels).sum(axis=1) / len(A)
        self.covariance = sums.gram / len(A) - self.mean[:, None] * self.mean
        self.variance = float(diagonal(self.covariance).sum()) / A.shape[1] or 1.0

    def minimised(self, penalty: float, model: Linear | None = None) -> Linear:
        """Return the optimum, sought from another model, or from zero.

        Half the penalty, times the mean variance of features, multiplies the squared weights.
        """
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
