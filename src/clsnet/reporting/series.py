"""The data of figures: curves, forgetting, cost."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from clsnet.evaluation.protocol import DEMO
from clsnet.evaluation.summaries import Summary
from clsnet.methods.registry import methods


def is_bound(summary: Summary) -> bool:
    """Tell whether a method is a bound and no competitor: no memory at all, or all data at once."""
    method = methods().get(summary.method)
    return method is not None and method.family == "bound"


def leaking(summary: Summary) -> bool:
    """Tell whether these runs were tested with the leaking protocol."""
    return summary.protocol == DEMO


def ordered(summaries: Sequence[Summary]) -> list[Summary]:
    """Sort by accuracy, the best first, with leaking runs last."""
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
    """Return the size of the model, of its exemplars, and of the network that it starts from."""
    sizes = (summary.mean("memory", part) for part in ("model_mb", "exemplar_mb"))
    return summary.network_mb + sum(size or 0.0 for size in sizes)


def orders(summary: Summary) -> str:
    """Say how many seeds and orders were run.

    Examples
    --------
    >>> one = {"seed": 0}
    >>> orders(Summary("Digits-10/5", "clsnet", None, "agnostic", False, [one]))
    '1 order'
    >>> orders(Summary("Digits-10/5", "ewc", None, "agnostic", False, [one, one, {"seed": 1}]))
    '2 seeds, 1 to 2 orders each'
    """
    each = f"{summary.orders} {'order' if summary.orders in ('1', 'any') else 'orders'}"
    if summary.n_seeds == 1:
        return each
    return f"{summary.n_seeds} seeds, {each}" + (" each" if summary.orders != "any" else "")
