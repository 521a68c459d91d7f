"""The published rows against their own BWT and FWT."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from clsnet.evaluation.consistency import greatest_accuracy
from clsnet.experiments import forgetting, forgetting_second, trade_off
from clsnet.experiments.answer import PUBLISHED, Answer, Cell, Check, Row, Table
from clsnet.experiments.cells import figures
from clsnet.experiments.found import Found
from clsnet.experiments.needs import Needs
from clsnet.experiments.published import TABLE, exceeded
from clsnet.experiments.registry import Experiment
from clsnet.experiments.released import FASHION

ROUNDING = 1e-3  # of figures with four digits, and of means of percentages with two


def needs(quick: bool) -> Needs:
    """Return nothing: it is arithmetic."""
    return Needs()


def answer(found: Found) -> Answer:
    """Compare each row with what follows from its other figures."""
    bounds, broken = _bounds()
    alone, differing = _models_of_one_task()
    means, wrong = _means()
    checks = [
        Check(
            f"{len(broken)} of {len(bounds.rows)} rows of the table of FashionMNIST-10/5 exceed "
            f"the greatest accuracy that their BWT and FWT allow: {', '.join(broken)}.",
            not broken,
        ),
        Check(
            "The rows of the table of γ imply that models of a single task have an accuracy of "
            f"{', '.join(f'{value:.4f}' for value in differing.values())} for γ = "
            f"{', '.join(f'{gamma:g}' for gamma in differing)}, although γ has no effect on a "
            "model without old tasks.",
            max(differing.values()) - min(differing.values()) < ROUNDING,
        ),
        Check(
            f"{len(wrong)} printed means in the tables of graceful forgetting are not the means of "
            f"the figures beside them: {'; '.join(wrong)}.",
            not wrong,
        ),
    ]
    return Answer(checks, WHY, [bounds, alone, means])


def _bounds() -> tuple[Table, list[str]]:
    rows, broken = [], []
    for name, row in TABLE[FASHION].items():
        if row.bwt is None or row.fwt is None:
            continue
        bound = greatest_accuracy(5, row.bwt, row.fwt)
        if exceeded(FASHION, row) is not None:
            broken.append(name)
        said = Cell(text="exceeded" if name in broken else "kept")
        rows.append(Row(name, [*figures(row.avg_acc, row.bwt, row.fwt, bound), said], PUBLISHED))
    heads = ("Avg Acc", "BWT", "FWT", "at most", "bound")
    return Table(f"Published rows of {FASHION} and their bounds", heads, rows), broken


def _models_of_one_task() -> tuple[Table, Mapping[float, float]]:
    """Solve the identity for the mean accuracy of models of one task."""
    implied = {
        gamma: after[-1] / 100 - 9 / 10 * (bwt + fwt)
        for gamma, (after, bwt, fwt) in trade_off.PRINTED.items()
    }
    rows = []
    for gamma, (after, bwt, fwt) in trade_off.PRINTED.items():
        cells = figures(after[-1] / 100, bwt, fwt, implied[gamma])
        rows.append(Row(f"γ = {gamma:g}", cells, PUBLISHED))
    caption = "Published rows of γ on CIFAR-100/10 and what they imply of models of one task"
    return Table(
        caption, ("Avg Acc", "BWT", "FWT", "models of one task"), rows, "Trade-off"
    ), implied


def _means() -> tuple[Table, list[str]]:
    rows, wrong = [], []
    for sequence, printed in (
        (FASHION, forgetting.PRINTED),
        ("CIFAR-100/5", forgetting_second.PRINTED),
    ):
        for variant, (R, means) in printed.items():
            for task, (row, mean) in enumerate(zip(R, means, strict=True), start=1):
                follows = statistics.fmean(value for value in row if value is not None)
                if abs(follows - mean) > 100 * ROUNDING / 2:
                    label = f"{sequence}, {variant}, after task {task}"
                    wrong.append(f"{label}: {mean:.2f} for {follows:.2f}")
                    rows.append(Row(label, figures(mean, follows, digits=2), PUBLISHED))
    caption = "Printed means that are not those of the figures beside them, in percent"
    return Table(caption, ("printed", "follows"), rows, "Where"), wrong


WHY = (
    "By the paper's definitions, T × Avg Acc = R₁₁ + the accuracies of models of one task (t > 1) "
    "+ (T − 1)(BWT + FWT), and no accuracy exceeds 1. The identity is linear, so it also holds for "
    "means over orders. It holds exactly for every run of this software, which refuses to store a "
    "run that violates it. Rows that violate it are no target to reach: at least one of their "
    "figures must be wrong."
)


EXPERIMENT = Experiment(
    number=14,
    name="contradictions",
    module=__name__,
    title="The published rows against their own BWT and FWT",
    place="Tables II, VII, VIII and IX",
    claim="Avg Acc, BWT, FWT and the means of each row belong to the same runs.",
)
