"""What the classifier sees: Z, G, G* or A."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clsnet.evaluation.summaries import Summary
from clsnet.experiments.answer import OURS, PUBLISHED, Answer, Cell, Check, Row, Table
from clsnet.experiments.cells import accuracy, figures
from clsnet.experiments.found import Found, ahead, network_name, on_same_orders
from clsnet.experiments.needs import ORDERS, Needed, Needs
from clsnet.experiments.registry import Experiment
from clsnet.experiments.released import TUNED, place
from clsnet.experiments.second import on_network

CONNECTIONS = ("Z", "G", "G*", "A")
SECOND = (10, 20)
# Accuracy in percent on task 1 when it was learned, and on all tasks: CIFAR-100/10, CIFAR-100/20.
PRINTED = {
    "Z": (89.90, 61.25, 76.80, 11.92),
    "G": (92.17, 63.85, 92.32, 57.86),
    "G*": (92.78, 77.23, 93.25, 73.58),
    "A": (92.56, 78.43, 93.17, 74.65),
}
Runs = Mapping[str, Summary]


def needs(quick: bool) -> Needs:
    """Return the paper's rule with each connection, and the full curvature on a network."""
    runs = [_first(connection, quick) for connection in CONNECTIONS]
    if not quick:
        runs += [_second(connection, tasks) for tasks in SECOND for connection in CONNECTIONS]
    return Needs(runs)


def answer(found: Found) -> Answer:
    """Compare the connections on each sequence."""
    rule = on_same_orders({c: found.get(_first(c, found.quick)) for c in CONNECTIONS})
    parts: list[tuple[str, Runs]] = [(f"{place(found.quick)}, the paper's rule", rule)]
    for tasks in () if found.quick else SECOND:
        tuned = found.get(_second("A", tasks))
        network = network_name(tuned) if tuned else None
        runs = on_same_orders({c: found.get(_second(c, tasks), network) for c in CONNECTIONS})
        if name := next((s.sequence for s in runs.values()), ""):
            parts.append((f"{name}, full curvature", runs))
    heads = [f"{name}: {what}" for name, _ in parts for what in ("task 1", "all")]
    rows = [
        Row(c, [cell for _, runs in parts for cell in _cells(runs.get(c))], OURS)
        for c in CONNECTIONS
    ]
    printed = [Row(c, figures(*(v / 100 for v in row)), PUBLISHED) for c, row in PRINTED.items()]
    caption = "Accuracy on task 1, just learned, and on all tasks at the end"
    table = Table(caption, heads, rows, rows_are="Connection", sortable=False)
    theirs = [f"CIFAR-100/{n}: {what}" for n in SECOND for what in ("task 1", "all")]
    checks = [check for name, runs in parts for check in _checks(name, runs)]
    summaries = [s for _, runs in parts for s in runs.values()]
    tables = [table, Table("As published", theirs, printed, rows_are="Connection", sortable=False)]
    return Answer(checks, WHY, tables, summaries)


def _checks(where: str, runs: Runs) -> list[Check]:
    if len(runs) < len(CONNECTIONS):
        return []
    best_first = sorted(runs, key=lambda c: -(runs[c].mean("avg_acc") or 0.0))
    last = [c for c in CONNECTIONS if c != "Z"]
    return [
        Check(
            f"{where}: on all tasks the order is {' > '.join(best_first)}.",
            ahead(runs["A"], runs["G*"]) and ahead(runs["G*"], runs["G"]),
        ),
        Check(
            f"Z, without nodes, {'is' if best_first[-1] == 'Z' else 'is not'} the least accurate.",
            all(ahead(runs[c], runs["Z"]) for c in last),
        ),
    ]


WHY = (
    "All four use the same γ and ridge, which were chosen for A on held-out training data. Nodes "
    "G* are tuned to samples of the first task, and their gain there does not carry over to later "
    "tasks. With the full curvature, which keeps the correlations between features, the features "
    "of a good network alone (Z) are enough."
)


def _first(connection: str, quick: bool) -> Needed:
    options: dict[str, Any] = {**TUNED, "connection": connection}
    orders = 1 if quick else ORDERS
    return Needed((place(quick),), "clsnet-paper", options, orders=orders)


def _second(connection: str, tasks: int) -> Needed:
    options = {} if connection == "Z" else {"connection": connection}  # Z is the default
    return on_network(Needed((), "clsnet", options, preset="fast"), tasks)


def _cells(summary: Summary | None) -> list[Cell]:
    return [Cell(summary.matrix()[0][0] if summary else None), accuracy(summary)]


EXPERIMENT = Experiment(
    number=4,
    name="connections",
    module=__name__,
    title="Connections Z, G, G* and A",
    place="Table IV",
    claim="Tuned nodes G* are far better than random ones G on all tasks (77.23 % and 63.85 % on "
    "CIFAR-100/10), and A = [Z, G*] is the best (78.43 %). Z alone is the worst.",
)
