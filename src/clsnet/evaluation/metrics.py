"""The paper's three accuracy metrics, of the matrix R and the independent models."""

from __future__ import annotations

from collections.abc import Sequence

Rows = Sequence[Sequence[float]]


def average_accuracy(R: Rows) -> float:
    """Return ``1/T sum_t R[T][t]``.

    Examples
    --------
    >>> average_accuracy([[1.0], [0.5, 0.75]])
    0.625
    """
    return sum(R[-1]) / len(R[-1])


def backward_transfer(R: Rows) -> float | None:
    """Return ``1/(T-1) sum_{t<T} R[T][t] - R[t][t]``; None for a single task.

    Examples
    --------
    >>> backward_transfer([[1.0], [0.5, 0.75]])
    -0.5
    """
    old = range(len(R) - 1)
    return sum(R[-1][t] - R[t][t] for t in old) / len(old) if old else None


def forward_transfer(R: Rows, independent: Sequence[float]) -> float | None:
    """Return ``1/(T-1) sum_{t>1} R[t][t] - R_t^ind``; None for a single task.

    Examples
    --------
    >>> forward_transfer([[1.0], [0.5, 0.75]], [1.0, 1.0])
    -0.25
    """
    new = range(1, len(R))
    return sum(R[t][t] - independent[t] for t in new) / len(new) if new else None
