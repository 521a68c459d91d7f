"""What is drawn of a summary: curves, forgetting, cost."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from clsnet.evaluation.protocol import DEMO
from clsnet.reporting.tables import Summary

# Bounds, not competitors: no memory at all, and all data at once.
BOUNDS = ("none", "joint", "joint-finetuned")


def leaking(summary: Summary) -> bool:
    """Tell whether these runs were tested with the leaking protocol."""
    return summary.protocol == DEMO


def ordered(summaries: Sequence[Summary]) -> list[Summary]:
    """Sort by accuracy, the best first, and whatever leaks last."""
    return sorted(summaries, key=lambda s: (leaking(s), -(s.mean("avg_acc") or 0), s.title))


def curve(R: Sequence[Sequence[float]]) -> list[float]:
    """Return the accuracy after each task, over all tasks so far.

    Examples
    --------
    >>> curve([[1.0], [0.5, 0.75]])
    [1.0, 0.625]
    """
    return [statistics.fmean(row) for row in R]


def curves(summary: Summary) -> tuple[list[float], list[float]]:
    """Return mean and standard deviation over orders of the accuracy after each task."""
    columns = list(zip(*(curve(run["R"]) for run in summary.runs), strict=True))
    means = [statistics.fmean(column) for column in columns]
    return means, [statistics.pstdev(column) for column in columns]


def forgetting(R: Sequence[Sequence[float]]) -> list[float]:
    """Return ``R[t][t] - R[T][t]`` for each old task.

    Examples
    --------
    >>> forgetting([[1.0], [0.5, 0.75]])
    [0.5]
    """
    return [R[t][t] - R[-1][t] for t in range(len(R) - 1)]


def total_mb(summary: Summary) -> float:
    """Return the size of the model and of its exemplars."""
    sizes = (summary.mean("memory", part) for part in ("model_mb", "exemplar_mb"))
    return sum(size or 0.0 for size in sizes)


def orders(summary: Summary) -> str:
    """Say how many orders were run.

    Examples
    --------
    >>> orders(Summary("Digits-10/5", "clsnet", None, "agnostic", False, [{}]))
    '1 order'
    """
    n = len(summary.runs)
    return f"{n} order" if n == 1 else f"{n} orders"
