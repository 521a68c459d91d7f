"""The identity between average accuracy, BWT and FWT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clsnet.evaluation.metrics import average_accuracy, backward_transfer

ROUNDING = 1e-9


def accuracy_by_transfer(
    first: float, independent: Sequence[float], bwt: float, fwt: float
) -> float:
    """Return the average accuracy that a run's other figures imply.

    By the definitions of the three metrics it is
    ``[R_11 + sum_{t>1} R_t^ind + (T - 1) (BWT + FWT)] / T``.

    Parameters
    ----------
    first
        R_11, the accuracy on the first task when it was learned.
    independent
        R_t^ind, the accuracy of a model of each task alone.
    bwt, fwt
        Backward and forward transfer.

    Examples
    --------
    >>> accuracy_by_transfer(1.0, [1.0, 1.0], bwt=-0.5, fwt=-0.25)
    0.625
    """
    later = independent[1:]
    return (first + sum(later) + len(later) * (bwt + fwt)) / len(independent)


def greatest_accuracy(n_tasks: int, bwt: float, fwt: float) -> float:
    """Return the greatest average accuracy that is possible with these transfers.

    It is reached if models of single tasks make no mistake.

    Examples
    --------
    >>> round(greatest_accuracy(5, bwt=-0.7474, fwt=-0.0737), 4)
    0.3431
    """
    return accuracy_by_transfer(1.0, [1.0] * n_tasks, bwt, fwt)


def contradiction(run: dict[str, Any]) -> str | None:
    """Say how the figures of a run contradict each other; None if they do not.

    Examples
    --------
    >>> run = {"R": [[1.0], [0.5, 0.75]], "independent": [1.0, 1.0]}
    >>> contradiction({**run, "avg_acc": 0.625, "bwt": -0.5, "fwt": -0.25})
    >>> contradiction({**run, "avg_acc": 0.625, "bwt": -0.5, "fwt": 0.0})
    'avg_acc is 0.625000, but 0.750000 follows from bwt, fwt and independent'
    """
    R, independent = run["R"], run.get("independent")
    follows = {"avg_acc": average_accuracy(R), "bwt": backward_transfer(R)}
    for name, value in follows.items():
        if not _same(run[name], value):
            return f"{name} is {_shown(run[name])}, but {_shown(value)} follows from R"
    if run["fwt"] is None:
        missing = bool(independent) and len(R) > 1
        return "fwt is nothing, but follows from R and independent" if missing else None
    if len(R) == 1 or not independent or len(independent) != len(R):
        return f"fwt is {_shown(run['fwt'])}, but R and independent do not have it"
    value = accuracy_by_transfer(R[0][0], independent, run["bwt"], run["fwt"])
    if _same(run["avg_acc"], value):
        return None
    return (
        f"avg_acc is {_shown(run['avg_acc'])}, but {_shown(value)} follows from bwt, fwt and "
        "independent"
    )


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= ROUNDING


def _shown(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.6f}"
