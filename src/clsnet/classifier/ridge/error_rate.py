"""The share of wrong answers to expect on samples left out, from sums alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

FITTED = 0.99  # beyond this share of their own targets in scores, nothing is left to test on
VARYING = 0.5  # of the variance that noise does not explain, what grows with the mean score
LEAST_SHARE = 0.05  # of the pooled variance that every class has
CORRELATED = 0.999
CERTAIN = 40.0  # standard deviations
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@dataclass(frozen=True)
class ScoreMoments:
    """What sums say of the scores of the samples that they were taken from.

    Attributes
    ----------
    sums
        ``Y'A Omega``: the scores of the samples of each class, added up in a row.
    squares
        ``Omega'A'A Omega``: products of the scores of a sample, added up over all samples.
    df, df_of_noise
        Degrees of freedom: ``tr(H)`` and ``tr(H^2)``, with H the matrix that makes scores of
        targets.
    centred
        Whether the mean was taken off scores and targets.
    """

    sums: np.ndarray
    squares: np.ndarray
    df: float
    df_of_noise: float
    centred: bool = False

    def left_out(self, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean scores of left-out samples, a row per class, and their covariance.

        The covariance is that within classes. Leaving out a sample turns its scores s into
        ``(s - h y) / (1 - h)``, with y its target and h its leverage: here that of the average
        sample, as in generalised cross-validation.
        """
        n_samples = counts.sum()
        leverage = self.df / n_samples
        means = self.sums / counts[:, None]
        within = (self.squares - self.sums.T @ means) / n_samples
        if self.centred:
            means = means + counts / n_samples
        means = (means - leverage * np.eye(len(counts))) / (1 - leverage)
        return means, within / (1 - leverage) ** 2


def expected_error_rate(moments: ScoreMoments, counts: np.ndarray) -> float:
    """Return the share of samples whose own class would not score highest, had they been left out.

    Scores of a class are taken as Gaussian. Their correlations are those within classes in general.
    Their variances are not: a class that scores higher on average also varies more, as shares of a
    whole do, by ``m (1 - m)`` with m its mean. How much of the variance grows so is a fixed part
    of what the noise of the weights does not explain. Given the score of the right class, those of
    others are taken as independent, so that the integral is one over a single number.

    Parameters
    ----------
    moments
        Of the scores.
    counts
        Samples of each class.

    Examples
    --------
    Two classes, four samples with the scores of the right class 0.9, 0.3, 0.8 and 0.4:

    >>> squares = np.array([[1.4, 0.7], [0.7, 1.4]])
    >>> sums = np.array([[1.2, 0.8], [0.8, 1.2]])
    >>> round(expected_error_rate(ScoreMoments(sums, squares, 0.4, 0.1), np.array([2, 2])), 2)
    0.43
    """
    n_samples = counts.sum()
    if moments.df > FITTED * n_samples:
        return 1.0
    from scipy.special import log_ndtr

    means, within = moments.left_out(counts)
    own = np.eye(len(counts), dtype=bool)
    shares = counts / n_samples
    pooled = np.maximum(np.diagonal(within), np.finfo(float).tiny)
    noise = (pooled + shares @ (means - own) ** 2) * moments.df_of_noise / n_samples
    likeness = np.clip(means, 0, 1)
    likeness = likeness * (1 - likeness)
    explained = max(float((pooled - noise).sum()), 0.0)
    slope = VARYING * explained / max(float((shares @ likeness).sum()), np.finfo(float).tiny)
    even = np.maximum(pooled - slope * (shares @ likeness), LEAST_SHARE * pooled)
    deviations = np.sqrt(even + slope * likeness)
    scale = np.sqrt(pooled)
    alike = np.clip(within / (scale[:, None] * scale), -CORRELATED, CORRELATED)
    rest = deviations * np.sqrt(1 - alike**2)
    right = np.zeros(len(counts))
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        best = np.diagonal(means) + np.diagonal(deviations) * node
        others = means + alike * deviations * node
        chances = log_ndtr(np.clip((best[:, None] - others) / rest, -CERTAIN, CERTAIN))
        right += weight * np.exp(np.where(own, 0.0, chances).sum(axis=1))
    return float(1 - shares @ right)


def doubt(error_rate: float, n_samples: float) -> float:
    """Return the standard error of a difference of error rates on the same samples.

    Two ridges disagree on few of the samples; these are taken as a third of the errors.
    """
    return math.sqrt(max(error_rate, 1 / n_samples) / (3 * n_samples))
