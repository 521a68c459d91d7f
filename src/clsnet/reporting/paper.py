"""Notes on figures that the paper reports."""

from __future__ import annotations

from clsnet.experiments.published import Row, exceeded
from clsnet.reporting.tables import number

CONTRADICTION = (
    "At most: by the paper's definitions Avg Acc = [R_11 + sum of R_t^ind (t > 1) + "
    "(T - 1)(BWT + FWT)] / T, so it cannot exceed 1 + (T - 1)/T (BWT + FWT). A published row "
    "with this mark exceeds it: its three figures cannot all be right."
)


def published_accuracy(sequence: str, row: Row) -> str:
    """Write the accuracy of a row, with the bound that it exceeds.

    Examples
    --------
    >>> from clsnet.experiments.published import paper_row
    >>> published_accuracy("FashionMNIST-10/5", paper_row("FashionMNIST-10/5", "EWC"))
    '0.4041 (at most 0.3431)'
    """
    bound = exceeded(sequence, row)
    return number(row.avg_acc) + ("" if bound is None else f" (at most {number(bound)})")
