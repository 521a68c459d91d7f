"""Long-term against short-term memory: the table of R, and what not answering alone would give."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clsnet.data import TaskSequence
from clsnet.evaluation.summaries import Summary
from clsnet.experiments.answer import (
    LEAKING,
    OTHER,
    OURS,
    PUBLISHED,
    Answer,
    Cell,
    Check,
    Row,
    Table,
)
from clsnet.experiments.found import on_same_orders
from clsnet.experiments.needs import Measurement
from clsnet.methods import get_method
from clsnet.storage import schema

VARIANTS: dict[str, tuple[int, ...]] = {
    "LTM": (),
    "STM: task 1": (0,),
    "STM: task 2": (1,),
    "STM: tasks 1 and 2": (0, 1),
}
SHARES = schema.listed(schema.number(0, 1) | schema.NOTHING, 1000)
MASKED = schema.mapped(schema.listed(SHARES, 1000, least=1), most=len(VARIANTS))
Printed = Mapping[str, tuple[Sequence[Sequence[float | None]], Sequence[float]]]
Matrix = Sequence[Sequence[float | None]]


def control_of(sequence: str, method: str, orders: int) -> Measurement:
    """Return the control of graceful forgetting, over some orders."""
    name = f"masked-{method}-{orders}"
    return Measurement(name, sequence, lambda tasks: masked(tasks, method, orders), MASKED)


def masked(sequence: TaskSequence, method: str, orders: int) -> dict[str, Any]:
    """Return R of a model that keeps all tasks and only leaves classes out of its answers.

    It is the control of graceful forgetting. A model that forgets two of ten classes has fewer to
    mistake for each other, whatever that does for its memory. For each kind of memory, the classes
    that it would have forgotten by then are taken out of the answers of the model that keeps all.

    Parameters
    ----------
    sequence, method
        What is learned, by what.
    orders
        Over how many orders to average.
    """
    found: dict[str, list[Matrix]] = {variant: [] for variant in VARIANTS}
    for index in range(orders):
        tasks = sequence.tasks(sequence.order(0, index))
        learner: Any = get_method(method).build(0)
        R: dict[str, list[list[float | None]]] = {variant: [] for variant in VARIANTS}
        for number, task in enumerate(tasks):
            learner.partial_fit(task.X_train, task.y_train)
            scores = [learner.predict_proba(past.X_test) for past in tasks[: number + 1]]
            classes = np.asarray(learner.classes_)
            for variant, forgotten in VARIANTS.items():
                gone = [t for t in forgotten if t < number]
                stay = ~np.isin(classes, [c for t in gone for c in tasks[t].classes])
                R[variant].append(
                    [
                        None if t in gone else _right(scores[t], classes, stay, tasks[t].y_test)
                        for t in range(number + 1)
                    ]
                )
        for variant in VARIANTS:
            found[variant].append(R[variant])
    return {variant: _averaged(several) for variant, several in found.items()}


def answered(
    sequence: str,
    honest: Mapping[str, Summary | None],
    leaking: Mapping[str, Summary | None],
    control: Mapping[str, Matrix] | None,
    printed: Printed,
) -> Answer:
    """Compare kinds of memory with long-term memory and with the control."""
    kept, leaks = on_same_orders(honest), on_same_orders(leaking)
    columns: dict[str, tuple[str, Matrix, Sequence[float] | None]] = {}
    for kind, label, runs in ((OURS, "", kept), (LEAKING, " LEAKING", leaks)):
        for variant, summary in runs.items():
            R = _without(summary.matrix(), VARIANTS[variant])
            columns[f"{variant}{label}"] = kind, R, None
    for variant, masked_R in (control or {}).items():
        if VARIANTS[variant]:
            columns[f"{variant}, only not answered"] = OTHER, masked_R, None
    for variant, (percent, means) in printed.items():
        shares = [[None if v is None else v / 100 for v in row] for row in percent]
        columns[f"{variant}, as published"] = PUBLISHED, shares, [m / 100 for m in means]
    n_tasks = max((len(R) for _, R, _ in columns.values()), default=0)
    shown = [T for T in (n_tasks - 2, n_tasks - 1) if T >= 0]  # the paper's R4 and R5
    rows = [
        Row(name, [cell for T in shown for cell in _cells(R, T, means)], kind)
        for name, (kind, R, means) in columns.items()
    ]
    heads: list[str] = []
    for T in shown:
        heads += [*(f"R{T + 1},{t + 1}" for t in range(T + 1)), f"mean {T + 1}"]
    table = Table(
        f"{sequence}: accuracy on each task after the last two, and the mean over remaining tasks",
        heads,
        rows,
        rows_are="Memory",
        sortable=False,
    )
    summaries = [*kept.values(), *leaks.values()]
    return Answer(_checks(kept), _why(kept, control), [table], summaries)


def _checks(honest: Mapping[str, Summary]) -> list[Check]:
    if "LTM" not in honest:
        return []
    whole = {v: _last_mean(s.matrix(), VARIANTS[v]) for v, s in honest.items()}
    others = {v: mean for v, mean in whole.items() if VARIANTS[v]}
    if not others:
        return []
    told = ", ".join(f"{mean:.4f} ({variant})" for variant, mean in others.items())
    return [
        Check(
            f"After the last task the remaining tasks are recognised at {whole['LTM']:.4f} with "
            f"long-term memory (all tasks) and at {told}.",
            all(mean > whole["LTM"] for mean in others.values()),
        )
    ]


def _why(honest: Mapping[str, Summary], control: Mapping[str, Matrix] | None) -> str:
    text = (
        "The means cover different tasks: a model that forgets is no longer tested on what it "
        "forgot, and it has fewer classes to confuse."
    )
    if not control:
        return text
    gains = {
        variant: (
            _last_mean(summary.matrix(), VARIANTS[variant]),
            statistics.fmean(v for v in control[variant][-1] if v is not None),
        )
        for variant, summary in honest.items()
        if VARIANTS[variant]
    }
    if not gains:
        return text
    told = "; ".join(
        f"{name} {mine:.4f}, control {kept:.4f}" for name, (mine, kept) in gains.items()
    )
    more = sum(mine > other for mine, other in gains.values())
    return (
        f"{text} The control keeps all tasks and only leaves the forgotten classes out of its "
        f"answers ({told}). Forgetting is better than the control in {more} of {len(gains)} cases, "
        "so "
        + (
            "it does free capacity for the other tasks."
            if more == len(gains)
            else "most of the gain comes from fewer possible answers, not from freed capacity."
        )
    )


def _right(scores: np.ndarray, classes: np.ndarray, stay: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(classes[stay][scores[:, stay].argmax(axis=1)] == y))


def _averaged(several: Sequence[Matrix]) -> list[list[float | None]]:
    """Average matrices whose entries are missing in the same places."""
    return [
        [None if cells[0] is None else statistics.fmean(cells) for cells in zip(*rows, strict=True)]
        for rows in zip(*several, strict=True)
    ]


def _without(R: Sequence[Sequence[float]], forgotten: Sequence[int]) -> list[list[float | None]]:
    """Return R without the accuracy on tasks that are forgotten by then."""
    return [
        [None if t in forgotten and t < T else value for t, value in enumerate(row)]
        for T, row in enumerate(R)
    ]


def _last_mean(R: Sequence[Sequence[float]], forgotten: Sequence[int]) -> float:
    return statistics.fmean(v for v in _without(R, forgotten)[-1] if v is not None)


def _cells(R: Matrix, T: int, means: Sequence[float] | None) -> list[Cell]:
    """Return the cells of the row after task T + 1, and their mean (or what is printed as such)."""
    values = [v for v in R[T] if v is not None]
    mean = means[T] if means else statistics.fmean(values)
    return [*(Cell(value) for value in R[T]), Cell(mean)]
