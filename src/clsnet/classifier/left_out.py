"""The scores that samples would have, had they been left out of what was learned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from clsnet.arrays.linalg import cholesky, solve_lower
from clsnet.classifier.analytic import NO_SUMS, AnalyticClassifier
from clsnet.classifier.calibration import FITTED, class_leverages
from clsnet.classifier.curvatures import FewSamples, FullTrace
from clsnet.classifier.curvatures.total import total
from clsnet.classifier.ridge.rule import Solution
from clsnet.classifier.sums import Label
from clsnet.errors import ClsnetError


def left_out_scores(
    classifier: AnalyticClassifier, A: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """Return the scores of learned samples by the weights of all others, with the same ridge.

    Leaving out a sample turns its scores s into ``(s - h y) / (1 - h)``, with y its target and h
    its leverage ``x' (A'A + ridge I)^-1 x``.

    Parameters
    ----------
    classifier
        It has learned the samples, and was not read from a file since.
    A
        Their features, one row per sample.
    labels
        Their classes.

    Examples
    --------
    >>> from clsnet.classifier.rule import Rule
    >>> blank = AnalyticClassifier(Rule(ridge=1.0), 2, "cpu")
    >>> A, y = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array(["cat", "dog"])
    >>> left_out_scores(blank.learn(lambda: [(A, y)]), A, y).round(2)
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    solution = _solution(classifier)
    traces = [trace for trace in classifier.traces.values() if isinstance(trace, FullTrace)]
    leverages = _leverages(total(traces), solution.ridge, A.astype(float).T)
    leverages = np.clip(leverages, 0, FITTED)[:, None]
    targets = labels[:, None] == np.array(classifier.labels)
    return np.asarray((classifier.scores(A) - leverages * targets) / (1 - leverages))


def left_out_moments(
    classifier: AnalyticClassifier, labels: Iterable[Label]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield mean and covariance of the scores of a class's samples, had each been left out.

    They follow from the sums of the class, which the classifier has to keep apart. The leverage is
    that of the average sample of the class.
    """
    omega, names = np.asarray(classifier.omega), classifier.labels
    traces = [trace for trace in map(classifier.traces.get, names) if isinstance(trace, FullTrace)]
    sums = np.stack([np.asarray(t.columns([c]))[:, 0] for c, t in zip(names, traces, strict=True)])
    counts = np.array([trace.n_samples for trace in traces])
    means = sums @ omega / counts[:, None]
    leverages = class_leverages(np.diagonal(means), counts, _solution(classifier).df)
    for column in map(names.index, labels):
        mean, leverage, trace = means[column], leverages[column], traces[column]
        if isinstance(trace, FewSamples):
            rows = np.asarray(trace.rows) @ omega
            squares = rows.T @ rows
        else:
            squares = omega.T @ (np.asarray(trace.gram) @ omega)
        covariance = (squares / counts[column] - np.outer(mean, mean)) / (1 - leverage) ** 2
        target = np.arange(len(names)) == column
        yield (mean - leverage * target) / (1 - leverage), covariance


def _leverages(seen: FullTrace, ridge: float, columns: np.ndarray) -> np.ndarray:
    """Return ``x' (A'A + ridge I)^-1 x`` for each column x.

    Of few samples with the factor R, ``R'R = A'A``, it is ``(x'x - x'R' (R R' + ridge I)^-1 R x)
    / ridge``.
    """
    if not isinstance(seen, FewSamples) or ridge == 0:
        lower = cholesky(np.asarray(seen.gram), ridge)
        right = columns
    else:
        rows = np.asarray(seen.rows)
        lower, right = cholesky(rows @ rows.T, ridge), rows @ columns
    if lower is None:
        raise ClsnetError(NO_SUMS)
    squares = np.asarray((solve_lower(lower, right) ** 2).sum(axis=0))
    return squares if right is columns else ((columns**2).sum(axis=0) - squares) / ridge


def _solution(classifier: AnalyticClassifier) -> Solution:
    if classifier.solution is None:
        raise ValueError("this classifier was read from a file: its solution is not there")
    return classifier.solution
