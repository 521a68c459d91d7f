"""What is kept of a task once it has been learned, and how it joins what was kept before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from clsnet.classifier.curvatures import DiagonalTrace, FullTrace, LowRankTrace, Trace
from clsnet.classifier.curvatures.pending_rows import PendingRows
from clsnet.classifier.curvatures.plasticity import plasticity
from clsnet.classifier.curvatures.total import few_together
from clsnet.classifier.curvatures.upper_triangle import UpperTriangle
from clsnet.classifier.ridge.normal_equations import NormalEquations
from clsnet.classifier.ridge.rule import regress
from clsnet.classifier.rule import TOTAL, Rule
from clsnet.classifier.sums import Batch, Label
from clsnet.errors import ClsnetError

Batches = Callable[[], Iterable[Batch]]
MERGED = 32  # few samples are factorised anew with every task up to this part of the dimension
NEEDS_SAMPLES = (
    'curvature="diagonal" reads the samples of a task twice, so it cannot learn from sums; use '
    'curvature="full".'
)


def compressed(current: FullTrace, rule: Rule, batches: Batches | None) -> Trace:
    """Keep less than everything of the current task, around its declarative parameters.

    Parameters
    ----------
    current
        All sums of the task.
    rule
        Of the diagonal or the low-rank curvature.
    batches
        Starts another pass over the task, which the diagonal curvature needs.
    """
    equations = NormalEquations(current.gram, current.cross, current.n_samples)
    alone = regress(equations, rule.ridge)
    omega = alone.omega  # Eq. (varOmega)
    if rule.curvature == "low-rank":
        return LowRankTrace.of(current, omega, rule.rank, alone.ridge)
    if batches is None:
        raise ClsnetError(NEEDS_SAMPLES)
    F, phantom = plasticity(batches(), current.labels, omega, rule.fisher, rule.phantoms)
    return DiagonalTrace(current.labels, F, F * omega, phantom, current.n_samples)


def remembered(
    old: Mapping[Label, Trace], kept: Mapping[Label, Trace], rule: Rule, number: int
) -> dict[Label, Trace]:
    """Return the traces of old tasks with those of a new one, of this number."""
    if rule.retain == "tasks":
        return {**old, number: kept[TOTAL]}
    traces = dict(old)
    gamma = rule.gamma_of(number)
    for key, trace in kept.items():
        if key in traces:
            traces[key] = _joined(traces[key], trace, rule, gamma)
        else:
            traces[key] = trace if gamma == 1 else trace.times(gamma)
    return traces


def _joined(old: Trace, task: Trace, rule: Rule, gamma: float) -> Trace:
    """Return ``old + gamma task``; the sums of the task are nobody else's and may be used up."""
    if rule.retain == TOTAL and not few_together([old, task], MERGED):
        old = old.dense
        if rule.plain and (pending := PendingRows.joined(old, task)):
            return pending
    if gamma == 1 and isinstance(old, UpperTriangle) and isinstance(task, UpperTriangle):
        return task.absorbing(old)
    return old.merge(task, gamma)
