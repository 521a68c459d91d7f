"""What has to be said below a table."""

from __future__ import annotations

from collections.abc import Sequence

from clsnet.evaluation.comparison import Comparison
from clsnet.reporting.differences import MEANING
from clsnet.reporting.tables import Summary

TUNED = (
    "Tuned: options chosen on held-out training data of all tasks, before the first task is learned"
)


def notes(summaries: Sequence[Summary], found: Sequence[Comparison | None]) -> list[str]:
    """Return the notes that the rows of a table need.

    Parameters
    ----------
    summaries
        The rows.
    found
        What `differences` found for them.
    """
    lines = []
    if any(summary.tuned for summary in summaries):
        edges = [
            f"{summary.method} ({', '.join(names)})"
            for summary in summaries
            if (names := _on_edge(summary))
        ]
        still = f"; on the edge of all that was tried: {', '.join(edges)}" if edges else ""
        lines.append(f"{TUNED}{still}.")
    if any(found):
        lines.append(MEANING)
    return lines


def _on_edge(summary: Summary) -> list[str]:
    """Return the options whose choice lies on an edge in some run."""
    names = (name for run in summary.runs for name in run.get("tuning", {}).get("on_edge", ()))
    return list(dict.fromkeys(names))
