"""What an experiment answers: whether the claim holds, why, and the tables and figures of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clsnet.evaluation.summaries import Summary

HOLDS = "holds"
FAILS = "does not hold"
UNMEASURED = "not measured yet"
UNTESTED = "cannot be tested here"

OURS, OTHER, LEAKING, PUBLISHED = "ours", "other", "leaking", "published"
"""Kinds of rows and lines: our own method, any other one, what leaks, what the paper prints."""


@dataclass(frozen=True)
class Check:
    """One part of a claim, as a sentence about what was found, and whether it holds."""

    sentence: str
    holds: bool


@dataclass(frozen=True)
class Cell:
    """A figure of a table, with its deviation over orders; no value is a dash.

    `text` is written where there is no number to write.
    """

    value: float | None = None
    spread: float | None = None
    digits: int = 4
    text: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a table."""

    label: str
    cells: Sequence[Cell]
    kind: str = OTHER


@dataclass(frozen=True)
class Table:
    """A table in the paper's form; a reader can sort it where its rows have no order.

    `heads` are of its figures, `rows_are` is that of the labels of rows.
    """

    caption: str
    heads: Sequence[str]
    rows: Sequence[Row]
    rows_are: str = "Method"
    sortable: bool = True
    note: str = ""


@dataclass(frozen=True)
class Line:
    """A line of a figure, with deviations to either side where there are any."""

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    spreads: Sequence[float] = ()
    kind: str = OTHER


@dataclass(frozen=True)
class Lines:
    """A figure of lines; `log` where steps along x are factors."""

    caption: str
    x: str
    y: str
    lines: Sequence[Line]
    log: bool = False


@dataclass(frozen=True)
class Panel:
    """Points in a plane, each of a class."""

    title: str
    points: Sequence[tuple[float, float]]
    labels: Sequence[int]


@dataclass(frozen=True)
class Panels:
    """Small multiples of points."""

    caption: str
    panels: Sequence[Panel]
    class_names: Sequence[str]


@dataclass(frozen=True)
class MethodTable:
    """The report's table of methods on one sequence, the paper's figures beside ours."""

    summaries: Sequence[Summary]


@dataclass(frozen=True)
class AccuracyCurves:
    """Accuracy after each task of methods on one sequence, and as published."""

    caption: str
    summaries: Sequence[Summary]
    published: Sequence[Line] = ()


@dataclass(frozen=True)
class Costs:
    """Accuracy against memory and against time, all methods on one sequence."""

    summaries: Sequence[Summary]


Part = Table | Lines | Panels | MethodTable | AccuracyCurves | Costs


@dataclass(frozen=True)
class Answer:
    """What became of a claim.

    Attributes
    ----------
    checks
        Its parts, each with what was found; none if nothing was tried.
    why
        Why it holds, or does not.
    parts
        Tables and figures.
    summaries
        The runs that they come from.
    """

    checks: Sequence[Check]
    why: str
    parts: Sequence[Part] = ()
    summaries: Sequence[Summary] = ()

    @property
    def verdict(self) -> str:
        """Whether the claim holds: all of its parts have to.

        Examples
        --------
        >>> Answer([Check("A is ahead.", True), Check("B is not.", False)], "").verdict
        'does not hold'
        """
        if not self.checks:
            return UNMEASURED
        return HOLDS if all(check.holds for check in self.checks) else FAILS
