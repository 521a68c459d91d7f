"""Probabilities from scores: a softmax temperature computed from sums alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clsnet.storage.schema import Kind, number

LEAST, MOST = 0.005, 1.0  # temperatures
LEAST_NOISE = 0.02
FITTED = 0.95  # beyond this share of their own targets in scores, there is nothing to test on
UNTESTED = 0.1  # the temperature then
NODES, FEW_NODES = 64, 8  # of the integral over a margin; where there are many, few suffice
MANY = 1000
STEPS = 60
ROUNDING = 1e-12
LARGEST = 700.0  # that `exp` can take


@dataclass(frozen=True)
class Calibration:
    """How scores become probabilities: a softmax with a temperature, mixed with a uniform share.

    Attributes
    ----------
    temperature
        The scores are divided by it.
    doubt
        The share of probability that is spread evenly over all classes.

    Examples
    --------
    >>> Calibration(temperature=0.5, doubt=0.1).probabilities(np.array([[1.0, 0.0]])).round(2)
    array([[0.84, 0.16]])
    """

    temperature: float = MOST
    doubt: float = 0.0

    accepts: ClassVar[Mapping[str, Kind]] = {
        "temperature": number(1e-6, 1e6),
        "doubt": number(0, 1),
    }

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return probabilities that increase with the scores of each row."""
        even = self.doubt / scores.shape[1]
        return np.asarray((1 - self.doubt) * softmax(scores / self.temperature) + even)

    @classmethod
    def of_noise(cls, noise: float) -> Calibration:
        """Take scores as one-hot values with Gaussian noise of this variance."""
        return cls(min(max(noise, LEAST_NOISE), MOST))

    @classmethod
    def of_sums(
        cls, sums: np.ndarray, squares: np.ndarray, counts: np.ndarray, df: float
    ) -> Calibration:
        """Find the temperature at which samples left out would have the least log loss.

        The loss is that of telling apart two classes at a time, summed over all pairs.

        Parameters
        ----------
        sums
            ``Y'A Omega``: the scores of the samples of each class, added up in a row.
        squares
            ``Omega'A'A Omega``: products of the scores of a sample, added up over all samples.
        counts
            Samples of each class.
        df
            Degrees of freedom of the scores.

        Examples
        --------
        >>> scores = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9], [0.2, 0.8]])
        >>> sums = np.array([scores[:2].sum(axis=0), scores[2:].sum(axis=0)])
        >>> Calibration.of_sums(sums, scores.T @ scores, np.array([2, 2]), df=1.0)
        Calibration(temperature=0.18..., doubt=0.16...)
        """
        n_samples, n_classes = float(counts.sum()), len(counts)
        doubt = 1 / (n_samples + n_classes)
        if df > FITTED * n_samples:
            return cls(UNTESTED, doubt)
        means, deviations = left_out_margins(sums, squares, counts, df)
        pairs = ~np.eye(n_classes, dtype=bool)
        weights = np.broadcast_to(counts[:, None] / n_samples, pairs.shape)
        return cls(1 / sharpness(means[pairs], deviations[pairs], weights[pairs]), doubt)


def left_out_margins(
    sums: np.ndarray, squares: np.ndarray, counts: np.ndarray, df: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return by how much a class (row) leads over another on its samples, had these been left out.

    These are the mean of the difference of both scores and its deviation within a class. Leaving
    out a sample turns its scores s into ``(s - h y) / (1 - h)``, with y its target and h its
    leverage. The leverage is taken as that of its class for the means, and for the deviation as
    that of all samples, ``df / N``, which is what generalised cross-validation does.
    """
    n_samples = counts.sum()
    means = sums / counts[:, None]
    within = (squares - sums.T @ means) / (n_samples * (1 - df / n_samples) ** 2)
    leverage = class_leverages(np.diagonal(means), counts, df)
    means = (means - np.diag(leverage)) / (1 - leverage)[:, None]
    variances = np.diagonal(within)
    variances = variances[:, None] + variances - 2 * within
    return np.diagonal(means)[:, None] - means, np.sqrt(np.maximum(variances, 0))


def class_leverages(own: np.ndarray, counts: np.ndarray, df: float) -> np.ndarray:
    """Return the leverage of the average sample of each class.

    It is the part that the mean of the class explains, and an even share of the rest.

    Parameters
    ----------
    own
        The mean score of each class on its own samples.
    counts
        Samples of each class.
    df
        Degrees of freedom of the scores.
    """
    return np.asarray(np.clip(own / counts + (df - own.sum()) / counts.sum(), 0, FITTED))


def sharpness(means: np.ndarray, deviations: np.ndarray, weights: np.ndarray) -> float:
    """Return the factor of margins at which their expected logistic loss is least.

    A margin is taken to follow Student's t distribution with three degrees of freedom: real ones
    have heavier tails than a Gaussian. If its variance is one, the expectation of f is the integral
    of ``f(tan a) cos(a)^2`` over angles a, but for a constant. The loss is convex in the factor.
    """
    n_nodes = NODES if len(means) < MANY else FEW_NODES
    angles = np.pi * ((np.arange(n_nodes) + 0.5) / n_nodes - 0.5)
    margins = means[:, None] + deviations[:, None] * np.tan(angles)
    pulls = weights[:, None] * np.cos(angles) ** 2 * margins

    def derivatives(factor: float) -> tuple[float, float]:
        """Return the first two derivatives of the loss."""
        wrong = 1 / (1 + np.exp(np.minimum(factor * margins, LARGEST)))
        pull = pulls * wrong
        return -float(pull.sum()), float(np.vdot(pull - pull * wrong, margins))

    low, high = 1 / MOST, 1 / LEAST
    if derivatives(low)[0] >= 0:
        return low
    if derivatives(high)[0] <= 0:
        return high
    factor = math.sqrt(low * high)
    for _ in range(STEPS):
        slope, curvature = derivatives(factor)
        newton = factor - slope / curvature
        if abs(newton - factor) <= ROUNDING * factor:
            break
        low, high = (low, factor) if slope > 0 else (factor, high)
        factor = newton if low < newton < high else math.sqrt(low * high)
    return factor


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return probabilities proportional to ``exp(scores)`` in each row.

    Examples
    --------
    >>> softmax(np.array([[0.0, 0.0]]))
    array([[0.5, 0.5]])
    """
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))
