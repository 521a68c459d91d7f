"""Memory and time against accuracy, all methods."""

from __future__ import annotations

from clsnet.evaluation.protocol import DEMO
from clsnet.evaluation.summaries import Summary
from clsnet.experiments import fashion_mnist
from clsnet.experiments.answer import Answer, Check, Costs
from clsnet.experiments.found import Found
from clsnet.experiments.needs import Needs
from clsnet.experiments.registry import Experiment
from clsnet.experiments.released import DIGITS, FASHION
from clsnet.methods import methods


def needs(quick: bool) -> Needs:
    """Return the runs of the table."""
    return fashion_mnist.needs(quick)


def answer(found: Found) -> Answer:
    """Draw all methods, and compare what they cost."""
    sequence = DIGITS if found.quick else FASHION
    shown = [s for s in fashion_mnist.table_runs(found, sequence) if s.protocol != DEMO]
    if not shown:
        return Answer([], f"There are no runs on {sequence}.")
    return Answer(_checks(shown), WHY, [Costs(shown)], shown)


def _checks(summaries: list[Summary]) -> list[Check]:
    rule = fashion_mnist.paper_rule(summaries)
    if rule is None:
        return []
    checks = []
    rehearsal = [s for s in summaries if s.mean("memory", "exemplar_mb")]
    learners = [s for s in rehearsal if _family(s) != "bound"]
    if learners:
        mine = _megabytes(rule)
        more = [s.title for s in learners if _megabytes(s) < mine]
        checks.append(
            Check(
                f"The paper's rule ({rule.title}) takes {mine:.2f} MB; {len(more)} of "
                f"{len(learners)} methods that keep exemplars take less, exemplars included.",
                not more,
            )
        )
    alike = [
        s for s in summaries if s.machines == rule.machines and _family(s) not in ("ours", "bound")
    ]
    if alike and len(rule.machines) == 1:
        mine = rule.mean("seconds", "learn") or 0.0
        faster = [s.title for s in alike if (s.mean("seconds", "learn") or 0.0) < mine]
        checks.append(
            Check(
                f"It learns in {mine:.1f} s on {rule.machines[0]}; {len(faster)} of {len(alike)} "
                f"methods measured there are faster{_listed(faster)}.",
                not faster,
            )
        )
    return checks


WHY = (
    "Memory counts every number that is needed to predict and to go on learning, with 32 bits "
    "each; random weights that can be drawn again from a seed do not count. Times can be compared "
    "on the same machine only; hollow rings are the paper's, measured on another. The full "
    "curvature takes one matrix, for any number of tasks and classes."
)


def _family(summary: Summary) -> str:
    known = methods().get(summary.method)
    return known.family if known else ""


def _megabytes(summary: Summary) -> float:
    parts = (summary.mean("memory", name) or 0.0 for name in ("model_mb", "exemplar_mb"))
    return summary.network_mb + sum(parts)


def _listed(titles: list[str]) -> str:
    return f" ({'; '.join(sorted(titles))})" if titles else ""


EXPERIMENT = Experiment(
    number=13,
    name="cost",
    module=__name__,
    title="Memory and time against accuracy",
    place="Table II: time and memory",
    claim="CLSNet learns faster than almost all others thanks to its closed form, and needs no "
    "exemplars: 6.13 MB, where rehearsal takes 5.83 MB and 5.98 MB of exemplars.",
)
