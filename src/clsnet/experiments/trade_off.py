"""The trade-off gamma of old tasks against the current one."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from clsnet.evaluation.protocol import AGNOSTIC, DEMO
from clsnet.evaluation.summaries import Summary
from clsnet.experiments.answer import (
    LEAKING,
    OURS,
    PUBLISHED,
    Answer,
    Cell,
    Check,
    Line,
    Lines,
    Row,
    Table,
)
from clsnet.experiments.cells import figures
from clsnet.experiments.found import Found, curve, on_same_orders
from clsnet.experiments.needs import Needed, Needs
from clsnet.experiments.registry import Experiment
from clsnet.experiments.released import place, released
from clsnet.experiments.second import on_network, paper_rule

RELEASED = 3000.0
GAMMAS = (1.0, 1e2, 1e3, RELEASED, 1e4, 1e5, 1e6)
PRINTED_GAMMAS = (1.0, 1e2, 1e4, 1e6)
# Accuracy in percent after each of ten tasks, BWT, FWT, on CIFAR-100/10.
PRINTED = {
    1.0: ((93.70, 45.00, 36.37, 28.88, 22.42, 24.98, 19.26, 16.15, 14.23, 16.91), -0.8192, 0.0003),
    1e2: ((93.70, 86.95, 87.87, 86.50, 84.60, 83.12, 81.34, 79.52, 77.38, 74.95), -0.0781, -0.0008),
    1e4: ((93.70, 90.05, 89.43, 88.82, 87.02, 85.42, 84.56, 83.61, 81.58, 78.12), -0.0117, -0.0375),
    1e6: ((93.70, 84.45, 79.87, 75.95, 74.22, 73.48, 71.21, 70.45, 69.13, 67.58), 0.4712, -0.6547),
}
Runs = Mapping[float, Summary]


def needs(quick: bool) -> Needs:
    """Return runs of the release for each gamma, and of the paper's rule on a network."""
    runs = [_runs(gamma, quick) for gamma in GAMMAS]
    runs += [_runs(gamma, quick, DEMO) for gamma in PRINTED_GAMMAS]
    return Needs(runs if quick else runs + [_second(gamma) for gamma in PRINTED_GAMMAS])


def answer(found: Found) -> Answer:
    """Compare the values of gamma."""
    first = place(found.quick)
    honest = on_same_orders({gamma: found.get(_runs(gamma, found.quick)) for gamma in GAMMAS})
    leaking = on_same_orders({g: found.get(_runs(g, found.quick, DEMO)) for g in PRINTED_GAMMAS})
    second = on_same_orders({gamma: found.get(_second(gamma)) for gamma in PRINTED_GAMMAS})
    rows = [Row(f"γ = {g:g}", _cells(s), OURS) for g, s in honest.items()]
    rows += [Row(f"γ = {g:g} LEAKING", _cells(s), LEAKING) for g, s in leaking.items()]
    tables = [_table(first, rows)] if rows else []
    lines = [_line(first, honest, OURS), _line(f"{first}, LEAKING", leaking, LEAKING)]
    if second:
        name = next(iter(second.values())).sequence
        tables.append(_table(name, [Row(f"γ = {g:g}", _cells(s), OURS) for g, s in second.items()]))
        lines.append(_line(name, second, OURS))
    printed = [
        Row(f"γ = {g:g}", figures(*(a / 100 for a in after), bwt, fwt), PUBLISHED)
        for g, (after, bwt, fwt) in PRINTED.items()
    ]
    tables.append(_table("CIFAR-100/10, as published", printed))
    last = [after[-1] / 100 for after, _, _ in PRINTED.values()]
    lines.append(Line("CIFAR-100/10, as published", list(PRINTED), last, (), PUBLISHED))
    caption = "Average accuracy after the last task, by γ"
    figure = Lines(caption, "γ", "average accuracy", [one for one in lines if one.xs], log=True)
    checks = [*_checks(first, honest), *(_checks(name, second) if second else ())]
    return Answer(
        checks, WHY, [figure, *tables], [*honest.values(), *leaking.values(), *second.values()]
    )


def _checks(where: str, runs: Runs) -> list[Check]:
    if not {1.0, 1e4, 1e6} <= runs.keys():
        return []
    least, middle, most = (runs[gamma] for gamma in (1.0, 1e4, 1e6))
    *old, new = least.matrix()[-1]
    lost = statistics.fmean(old)
    (bwt, fwt), (more_bwt, less_fwt) = (
        [one.mean(name) or 0.0 for name in ("bwt", "fwt")] for one in (middle, most)
    )
    printed = [gamma for gamma in PRINTED_GAMMAS if gamma in runs]
    best, of_printed = (
        max(some, key=lambda gamma: runs[gamma].mean("avg_acc") or 0.0) for some in (runs, printed)
    )
    return [
        Check(
            f"On {where}, γ = 1 leaves {lost:.4f} on old tasks and {new:.4f} on the newest.",
            lost < 0.5 * new,
        ),
        Check(
            f"From γ = 10⁴ to 10⁶, BWT changes by {_signed(more_bwt - bwt)} and FWT by "
            f"{_signed(less_fwt - fwt)}.",
            more_bwt > bwt and less_fwt < fwt,
        ),
        Check(
            f"Of the printed values {of_printed:g} is best "
            f"({runs[of_printed].mean('avg_acc'):.4f}), of all that were tried {best:g} "
            f"({runs[best].mean('avg_acc'):.4f}).",
            of_printed == 1e4,
        ),
    ]


WHY = (
    "The best value of γ depends on the scale of the features and on how the plasticity is "
    "computed (the paper's text and the released code differ by orders of magnitude), so it has to "
    "be tuned for each data set. With the full curvature instead of its diagonal, γ = 1 is exact "
    "and nothing has to be tuned."
)


def _runs(gamma: float, quick: bool, protocol: str = AGNOSTIC) -> Needed:
    return released(quick, protocol, **({} if gamma == RELEASED else {"gamma": gamma}))


def _second(gamma: float) -> Needed:
    return on_network(paper_rule(gamma=gamma), 10)


def _cells(summary: Summary) -> list[Cell]:
    return figures(*curve(summary), summary.mean("bwt"), summary.mean("fwt"))


def _table(where: str, rows: list[Row]) -> Table:
    heads = [f"task {i + 1}" for i in range(len(rows[0].cells) - 2)]
    caption = f"Avg Acc after each task, BWT and FWT: {where}"
    return Table(caption, [*heads, "BWT", "FWT"], rows, rows_are="Trade-off")


def _signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "−")


def _line(label: str, runs: Runs, kind: str) -> Line:
    means = [summary.mean("avg_acc") or 0.0 for summary in runs.values()]
    spreads = [summary.spread("avg_acc") for summary in runs.values()]
    return Line(label, list(runs), means, spreads, kind)


EXPERIMENT = Experiment(
    number=8,
    name="trade-off",
    module=__name__,
    title="Trade-off γ",
    place="Table VII",
    claim="γ = 1 forgets old tasks as plain training does. 10⁴ is best (0.7812 after ten tasks of "
    "CIFAR-100). 10⁶ keeps old tasks (BWT +0.4712) at the cost of new ones (FWT −0.6547).",
)
