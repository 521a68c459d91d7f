"""Notes below a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clsnet.evaluation.comparison import Comparison
from clsnet.evaluation.summaries import Summary
from clsnet.experiments.published import Row, exceeded
from clsnet.reporting import differences, forms
from clsnet.reporting.paper import CONTRADICTION

TUNED = (
    "Tuned: options chosen on held-out training data of all tasks, before the first task is learned"
)


def notes(
    summaries: Sequence[Summary],
    found: Sequence[Comparison | None],
    published: Iterable[Row],
) -> list[str]:
    """Return the notes that the rows of a table need.

    Parameters
    ----------
    summaries
        The rows.
    found
        What `differences` found for them.
    published
        Rows of the paper that stand beside them.
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
    if any(forms.form_of(summary) != forms.PIXELS for summary in summaries):
        lines.append(forms.MEANING)
    if any(found):
        lines.append(differences.MEANING)
    if any(exceeded(summaries[0].sequence, row) is not None for row in published):
        lines.append(CONTRADICTION)
    return lines


def _on_edge(summary: Summary) -> list[str]:
    """Return the options whose choice lies on an edge in some run."""
    names = (name for run in summary.runs for name in run.get("tuning", {}).get("on_edge", ()))
    return list(dict.fromkeys(names))
