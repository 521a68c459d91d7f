"""Diagonal, low-rank and full curvature at equal memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clsnet.evaluation.summaries import Summary
from clsnet.experiments.answer import OTHER, OURS, Answer, Cell, Check, Line, Lines, Row, Table
from clsnet.experiments.cells import accuracy
from clsnet.experiments.found import Found, ahead, on_same_orders
from clsnet.experiments.needs import ORDERS, Needed, Needs
from clsnet.experiments.registry import Experiment
from clsnet.experiments.released import place

FULL, LOW_RANK, DIAGONAL = "full", "low-rank", "diagonal"
# Groups and their size, so that each column of the three takes the same memory; ranks.
SIZES = {FULL: ((15, 7), (15, 15), (30, 15)), LOW_RANK: ((15, 10), (30, 15), (30, 30))}
SIZES[DIAGONAL] = ((15, 15), (30, 30), (112, 30))
RANKS = (25, 43, 94)
# Gamma and ridge of the diagonal in each size, chosen on held-out training data of one order of
# FashionMNIST-10/5; those of the largest are those of the one before.
CHOSEN = ((3e7, 0.3), (1e9, 1.0), (1e9, 1.0))


def needs(quick: bool) -> Needs:
    """Return each curvature in three sizes, or two."""
    return Needs(list(_wanted(quick).values()))


def answer(found: Found) -> Answer:
    """Compare the curvatures size by size."""
    wanted = _wanted(found.quick)
    runs = on_same_orders({key: found.get(needed) for key, needed in wanted.items()})
    rows = [
        Row(_named(*key), [_megabytes(s), accuracy(s), Cell(s.mean("bwt"))], _kind(key[0]))
        for key, s in runs.items()
    ]
    lines = []
    for kind in SIZES:
        if own := [s for key, s in runs.items() if key[0] == kind]:
            memory = [_megabytes(s).value or 0.0 for s in own]
            means = [s.mean("avg_acc") or 0.0 for s in own]
            spreads = [s.spread("avg_acc") for s in own]
            lines.append(Line(kind, memory, means, spreads, _kind(kind)))
    if not lines:
        return Answer([], f"There are no runs on {place(found.quick)}.")
    where = place(found.quick)
    table = Table(
        f"{where}: random ReLU nodes of the pixels",
        ("MB", "Avg Acc", "BWT"),
        rows,
        rows_are="Curvature",
    )
    caption = f"{where}: average accuracy by memory"
    figure = Lines(caption, "memory (MB), logarithmic", "average accuracy", lines, log=True)
    return Answer(_checks(runs), WHY, [figure, table], list(runs.values()))


def _checks(runs: Mapping[tuple[str, int], Summary]) -> list[Check]:
    checks = []
    for size in range(len(RANKS)):
        if not {(kind, size) for kind in SIZES} <= runs.keys():
            continue
        full, low, diagonal = (runs[kind, size] for kind in (FULL, LOW_RANK, DIAGONAL))
        told = [f"{s.mean('avg_acc'):.4f}" for s in (full, low, diagonal)]
        checks.append(
            Check(
                f"With {_megabytes(full).value:.2f} MB: full {told[0]}, low rank {told[1]}, "
                f"diagonal {told[2]}.",
                ahead(full, diagonal) and ahead(low, diagonal),
            )
        )
    return checks


WHY = (
    "A task is remembered as a quadratic around its solution. For a squared error that is exact "
    "with the whole Hessian A'A. Its diagonal assumes uncorrelated features, and they are "
    "correlated. At equal memory the diagonal can use many more features, but they do not make up "
    "for it. The low-rank form can use about twice as many features as the full one, which alone "
    "is exact for any order of tasks. All three use random nodes of the same kind; γ and ridge of "
    "the diagonal were chosen on held-out training data."
)


def _wanted(quick: bool) -> dict[tuple[str, int], Needed]:
    sizes = range(len(RANKS) - quick)
    return {(kind, size): _runs(kind, size, quick) for kind in SIZES for size in sizes}


def _runs(kind: str, size: int, quick: bool) -> Needed:
    groups, group_size = SIZES[kind][size]
    options: dict[str, Any] = {"connection": "G", "groups": groups, "group_size": group_size}
    options["retain"] = "total"
    if kind == DIAGONAL:
        options |= dict(zip(("gamma", "ridge"), CHOSEN[size], strict=True))
    else:
        options |= {"curvature": kind, "gamma": 1.0, "terms": (1, 2), "ridge": "auto"}
    if kind == LOW_RANK:
        options["rank"] = RANKS[size]
    return Needed((place(quick),), "clsnet-paper", options, orders=1 if quick else ORDERS)


def _kind(curvature: str) -> str:
    return OURS if curvature == FULL else OTHER


def _named(kind: str, size: int) -> str:
    groups, group_size = SIZES[kind][size]
    rank = f", rank {RANKS[size]}" if kind == LOW_RANK else ""
    return f"{kind}, {groups * group_size} features{rank}"


def _megabytes(summary: Summary) -> Cell:
    return Cell(summary.mean("memory", "model_mb"), digits=3)


EXPERIMENT = Experiment(
    number=11,
    name="curvature",
    module=__name__,
    title="Diagonal, low-rank and full curvature at equal memory",
    place="ours",
    claim="With the same memory, the full curvature of a few features, or a low-rank form with "
    "more features, is more accurate than the diagonal (the paper's plasticity) with many.",
)
