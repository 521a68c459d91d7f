"""Cells of tables, from runs or from what is printed."""

from __future__ import annotations

from clsnet.evaluation.summaries import Summary
from clsnet.experiments.answer import Cell

METRICS = ("avg_acc", "bwt", "fwt")


def metrics(summary: Summary) -> list[Cell]:
    """Return Avg Acc with its deviation over orders, BWT and FWT."""
    return [accuracy(summary), *(Cell(summary.mean(name)) for name in METRICS[1:])]


def accuracy(summary: Summary | None) -> Cell:
    """Return the average accuracy with its deviation, or a dash."""
    if summary is None:
        return Cell()
    many = len(summary.runs) > 1
    return Cell(summary.mean("avg_acc"), summary.spread("avg_acc") if many else None)


def figures(*values: float | None, digits: int = 4) -> list[Cell]:
    """Return cells of plain figures."""
    return [Cell(value, digits=digits) for value in values]
