"""Figures as they are written in tables."""

from __future__ import annotations


def number(value: float | None, digits: int = 4) -> str:
    """Write a figure, or a dash.

    Examples
    --------
    >>> number(0.91854), number(None)
    ('0.9185', '–')
    """
    return "–" if value is None else f"{value:.{digits}f}"


def megabytes(model: float | None, exemplars: float | None) -> str:
    """Write the size of a model and, where there are any, of its exemplars.

    Examples
    --------
    >>> megabytes(5.83, 5.98), megabytes(6.13, 0.0)
    ('5.83 + 5.98', '6.13')
    """
    return f"{number(model, 2)} + {number(exemplars, 2)}" if exemplars else number(model, 2)
