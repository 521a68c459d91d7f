"""The table of ImageNet-200 in 5, 10, 20 and 40 tasks, or of Tiny-ImageNet in its place."""

from __future__ import annotations

from dataclasses import replace

from clsnet.evaluation.summaries import Summary
from clsnet.experiments.answer import OTHER, OURS, PUBLISHED, Answer, Check, Row, Table
from clsnet.experiments.cells import accuracy, figures
from clsnet.experiments.found import Found, ahead, is_plain, network_name
from clsnet.experiments.needs import SEEDS, Needed, Needs
from clsnet.experiments.networks import SIMSIAM
from clsnet.experiments.registry import Experiment
from clsnet.experiments.released import TUNED
from clsnet.experiments.second import on_one_network, paper_rule
from clsnet.methods import methods

TASKS = (5, 10, 20, 40)
FEW_TASKS = (2, 5, 10)
NETWORK = "resnet50-simsiam"
COMPARED = ("owm", "il2m", "pcl", "rm", "fs-dgpm", "ari", "foster", "dytox")
OURS_TOO = ("clsnet", "slda", "ranpac", "ncm")
SHOWN = (*COMPARED, *OURS_TOO, "clsnet-paper")
PRINTED = {
    "OWM": (0.5315, 0.5498, 0.5169, 0.4953),
    "IL2M": (0.5413, 0.5401, 0.5047, 0.4897),
    "PCL": (0.5342, 0.5642, 0.5247, 0.5217),
    "RM": (0.5398, 0.5569, 0.5279, 0.5103),
    "FS-DGPM": (0.5314, 0.5499, 0.5337, 0.5241),
    "ARI": (0.5464, 0.5285, 0.4946, 0.5017),
    "FOSTER": (0.5461, 0.5601, 0.5327, 0.5258),
    "DyTox": (0.5498, 0.5623, 0.5412, 0.5231),
    "CLSNet": (0.5468, 0.5715, 0.5383, 0.5274),
}


def places(tasks: int) -> tuple[str, str]:
    """Return the paper's sequence and what stands in for it."""
    return f"ImageNet-200/{tasks}", f"TinyImageNet-100/{tasks}"


def needs(quick: bool) -> Needs:
    """Return the compared methods in each number of tasks."""
    if quick:
        closed = [Needed((), name, preset="fast", orders=1) for name in ("clsnet", "slda", "ncm")]
        runs = [*closed, Needed((), "clsnet-paper", TUNED, orders=1)]
        names = [f"Digits-10/{tasks}" for tasks in FEW_TASKS]
        return Needs([replace(one, sequences=(name,)) for name in names for one in runs])
    known = methods()
    names = [name for name in (*COMPARED, *OURS_TOO) if name in known and known[name].backbones]
    plain = [Needed((), name, preset="fast" if known[name].presets else None) for name in names]
    return Needs([_placed(one, tasks) for tasks in TASKS for one in (paper_rule(), *plain)])


def answer(found: Found) -> Answer:
    """Put all numbers of tasks side by side."""
    columns = _columns(found)
    if not columns:
        return Answer([], "There are no runs on ImageNet or Tiny-ImageNet.", [_printed()])
    titles = dict.fromkeys(_title(s) for summaries in columns.values() for s in summaries)
    rows = []
    for title in titles:
        cells = [
            accuracy(next((s for s in summaries if _title(s) == title), None))
            for summaries in columns.values()
        ]
        rows.append(Row(title, cells, OURS if title.startswith("clsnet,") else OTHER))
    rows.sort(key=lambda row: -max(cell.value or 0.0 for cell in row.cells))
    used = [s for summaries in columns.values() for s in summaries]
    networks = ", ".join(dict.fromkeys(filter(None, map(network_name, used)))) or "none"
    table = Table(
        "Average accuracy after the last task",
        list(columns),
        rows,
        note=f"Frozen network: {networks}.",
    )
    return Answer(_checks(columns), _why(columns), [table, _printed()], used)


def _columns(found: Found) -> dict[str, list[Summary]]:
    """Return the runs of each sequence, on networks of one kind: SimSiam's, if there are any."""
    names = [(f"Digits-10/{t}",) for t in FEW_TASKS] if found.quick else map(places, TASKS)
    columns: dict[str, list[Summary]] = {}
    for several in names:
        for name in several:
            plain = [s for s in found.honest(name) if s.method in SHOWN and is_plain(s)]
            if plain := [s for s in plain if s.preset in (None, "fast")]:
                columns[name] = plain
                break
    every = [s for column in columns.values() for s in column]
    unlabelled = [s for s in every if SIMSIAM in network_name(s)]
    chosen = {network_name(s) for s in unlabelled or on_one_network(every)}
    kept = {name: [s for s in c if network_name(s) in chosen] for name, c in columns.items()}
    return {name: column for name, column in kept.items() if column}


def _checks(columns: dict[str, list[Summary]]) -> list[Check]:
    """Compare the paper's rule with the methods of the paper's table, where they were run."""
    checks = []
    for name, summaries in columns.items():
        rule = next((s for s in summaries if s.method == "clsnet-paper"), None)
        others = [s for s in summaries if s.method in COMPARED]
        if rule and others:
            leading = [s.method for s in others if not ahead(rule, s)]
            checks.append(
                Check(
                    f"On {name} {len(leading)} of {len(others)} methods of the paper's table are "
                    f"not behind its rule ({rule.mean('avg_acc'):.4f}).",
                    len(leading) <= 1,
                )
            )
    return checks


def _why(columns: dict[str, list[Summary]]) -> str:
    sentences = []
    if not any(name.startswith("ImageNet") for name in columns):
        sentences.append(f"ImageNet is not here; these are runs on {', '.join(columns)}.")
    if not _checks(columns):
        sentences.append("No method of the paper's table was run on them, so its order is open.")
    pairs = [
        (name, rule, full)
        for name, summaries in columns.items()
        for rule in summaries
        for full in summaries
        if rule.method == "clsnet-paper" and full.method == "clsnet"
    ]
    if pairs:
        told = ", ".join(
            f"{rule.mean('avg_acc'):.4f} and {full.mean('avg_acc'):.4f} on {name}"
            for name, rule, full in pairs
        )
        sentences.append(f"The paper's rule and the full curvature on the same network: {told}.")
        sentences.append("Gamma and ridge of the paper's rule were not tuned for these runs.")
    return " ".join(sentences)


def _placed(needed: Needed, tasks: int) -> Needed:
    return replace(needed, sequences=places(tasks), orders=1, seeds=SEEDS, network=NETWORK)


def _printed() -> Table:
    rows = [Row(name, figures(*row), PUBLISHED) for name, row in PRINTED.items()]
    return Table("As published", [f"ImageNet-200/{t}" for t in TASKS], rows)


def _title(summary: Summary) -> str:
    """Return a title without the network, which all rows share, and without what tuning chose."""
    return ", ".join(filter(None, [summary.method, summary.preset]))


EXPERIMENT = Experiment(
    number=3,
    name="imagenet",
    module=__name__,
    title="ImageNet-200 in 5, 10, 20 and 40 tasks",
    place="Table III",
    claim="On a ResNet-50 pretrained by SimSiam on other classes, CLSNet is first in 10 and 40 "
    "tasks (0.5715, 0.5274) and second in 5 and 20 (0.5468, 0.5383).",
)
