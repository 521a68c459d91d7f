"""Differential privacy: noise of the Gaussian mechanism on sums, and its guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clsnet.arrays.linalg import eigh
from clsnet.classifier.curvatures.full import FullTrace
from clsnet.classifier.learned_task import LearnedTask
from clsnet.classifier.rule import TOTAL
from clsnet.classifier.summed_task import SummedTask
from clsnet.errors import ClsnetError

SHARES = {"gram": 0.8, "cross": 0.19, "counts": 0.01}
"""Of mu^2: how the promise is spent."""

LARGEST = 700.0  # that `exp` can take
STEPS = 200


@dataclass(frozen=True)
class Privacy:
    """The differential privacy of noisy sums, for somebody with one sample among those summed.

    A release with Gaussian noise is described by mu: the distance by which one sample moves it,
    divided by the standard deviation of the noise. It holds (epsilon, delta)-differential privacy
    for all pairs with ``delta = Phi(mu / 2 - epsilon / mu) - exp(epsilon) Phi(-mu / 2 - epsilon /
    mu)``, where one sample more or less makes two data sets neighbours.

    Attributes
    ----------
    delta
        The delta of the guarantee.
    mu
        mu for a sample that is in one of the sums that were added up.
    mu_in_all
        mu for a sample, or a person, in all of them: the squares of mu add up.

    Examples
    --------
    >>> here = Privacy.of(epsilon=8.0, delta=1e-5)
    >>> here
    Privacy(epsilon=8.0, delta=1e-05; in each of them: epsilon=8.0)
    >>> here.beside(here)
    Privacy(epsilon=8.0, delta=1e-05; in each of them: epsilon=12.3)
    """

    delta: float
    mu: float
    mu_in_all: float

    @classmethod
    def of(cls, epsilon: float, delta: float) -> Privacy:
        """Return the promise of a release with the least noise that keeps to it."""
        if not (0 < epsilon <= 100 and 0 < delta < 1):
            raise ClsnetError(
                f"epsilon={epsilon} and delta={delta}: use an epsilon above 0, up to 100, and a "
                "delta between 0 and 1, such as 1e-5."
            )
        low, high = 0.0, 100.0
        for _ in range(STEPS):
            mu = (low + high) / 2
            low, high = (mu, high) if delta_of(mu, epsilon) <= delta else (low, mu)
        return cls(delta, low, low)

    @property
    def epsilon(self) -> float:
        """Return epsilon for a sample that is in one of the sums that were added up."""
        return epsilon_of(self.mu, self.delta)

    @property
    def epsilon_in_all(self) -> float:
        """Return epsilon for a sample, or a person, in all of them."""
        return epsilon_of(self.mu_in_all, self.delta)

    def beside(self, other: Privacy) -> Privacy:
        """Return the promise of two releases, each over its own samples."""
        together = math.hypot(self.mu_in_all, other.mu_in_all)
        return Privacy(max(self.delta, other.delta), max(self.mu, other.mu), together)

    def __repr__(self) -> str:
        in_all = f"in each of them: epsilon={self.epsilon_in_all:.1f}"
        return f"Privacy(epsilon={self.epsilon:.1f}, delta={self.delta:g}; {in_all})"


def noised(summed: SummedTask, clip: float, mu: float, random: np.random.Generator) -> SummedTask:
    """Return sums in total with Gaussian noise.

    A sample of norm r moves the Gram matrix by r^2 in the Frobenius norm, the class sums by r and
    one count by 1. In the isometric coordinates of a symmetric matrix, noise of deviation s is s
    on its diagonal and ``s / sqrt(2)`` beside it.

    Parameters
    ----------
    summed
        The sums.
    clip
        The largest norm of a sample.
    mu
        What is promised: the distance by which one sample moves all of it, over the noise.
    random
        Where noise comes from.
    """
    deviation = {name: 1 / (mu * share**0.5) for name, share in SHARES.items()}
    exact = summed.traces[TOTAL]
    labels, size = summed.task.classes, len(exact.cross)
    drawn = random.standard_normal((size, size))
    values, vectors = eigh(exact.gram + deviation["gram"] * clip**2 * (drawn + drawn.T) / 2)
    gram = (vectors * np.maximum(values, 0)) @ vectors.T
    cross = exact.columns(labels) + deviation["cross"] * clip * random.standard_normal(
        (size, len(labels))
    )
    told = np.array(list(summed.task.counts.values())) + deviation[
        "counts"
    ] * random.standard_normal(len(labels))
    counts = np.maximum(np.round(told), 1).astype(int).tolist()
    task = LearnedTask(dict(zip(labels, counts, strict=True)))
    trace = FullTrace(labels, (gram + gram.T) / 2, cross, float(sum(counts)))
    return SummedTask(task, {TOTAL: trace})


def delta_of(mu: float, epsilon: float) -> float:
    """Return the delta of a Gaussian release at some epsilon.

    Examples
    --------
    >>> round(delta_of(1.0, 1.0), 4)
    0.1269
    """
    if mu <= 0:
        return 0.0
    likely, rare = _normal(mu / 2 - epsilon / mu), _normal(-mu / 2 - epsilon / mu)
    return max(0.0, likely - math.exp(min(epsilon, LARGEST)) * rare)


def epsilon_of(mu: float, delta: float) -> float:
    """Return the least epsilon that a Gaussian release keeps to at some delta."""
    low, high = 0.0, mu**2 / 2 + 10 * mu + 10
    for _ in range(STEPS):
        epsilon = (low + high) / 2
        low, high = (low, epsilon) if delta_of(mu, epsilon) <= delta else (epsilon, high)
    return high


def _normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2
