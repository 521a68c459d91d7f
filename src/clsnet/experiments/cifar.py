"""Accuracy after each task on CIFAR-100/5 and /10, or on Tiny-ImageNet in its place."""

from __future__ import annotations

from dataclasses import replace

from clsnet.evaluation.summaries import Summary
from clsnet.experiments import forgetting_second, trade_off
from clsnet.experiments.answer import PUBLISHED, AccuracyCurves, Answer, Check, Line
from clsnet.experiments.found import Found, ahead, is_plain, network_name
from clsnet.experiments.needs import SEEDS, Needed, Needs
from clsnet.experiments.registry import Experiment
from clsnet.experiments.released import TUNED
from clsnet.experiments.second import NETWORK, on_network, on_one_network, paper_rule, places
from clsnet.methods import Method, methods

TASKS = (5, 10)
PEERS = ("ncm", "slda", "ranpac")
QUICK = ("clsnet", "clsnet-paper", "ncm", "slda", "owm", "none")
BOUND = "joint-finetuned"
BELOW_JOINT = 0.0807
PRINTED = {
    5: [value / 100 for value in forgetting_second.PRINTED["LTM"][1]],
    10: [value / 100 for value in trade_off.PRINTED[1e4][0]],
}


def needs(quick: bool) -> Needs:
    """Return every method of the paper that can learn on a frozen network, and the bound."""
    if quick:
        known = methods()
        return Needs([_runs(known[n], f"Digits-10/{tasks}") for tasks in TASKS for n in QUICK])
    able = [one for one in methods().values() if one.paper or one.name in PEERS]
    plain = [_plain(one) for one in able if "frozen" in one.forms and one.name != "clsnet-paper"]
    runs = [on_network(needed, tasks) for tasks in TASKS for needed in (*plain, paper_rule())]
    bound = Needed(places(1), BOUND, orders=1, seeds=SEEDS, network=NETWORK)
    return Needs([*runs, bound])


def answer(found: Found) -> Answer:
    """Draw the curves; compare after ten tasks."""
    parts, used, checks = [], [], []
    for tasks in TASKS:
        shown = _shown(found, tasks)
        if not shown:
            continue
        used += shown
        line = Line("CIFAR-100, as published", range(1, tasks + 1), PRINTED[tasks], (), PUBLISHED)
        caption = f"{shown[0].sequence}: accuracy after each task"
        parts.append(AccuracyCurves(caption, shown, [line]))
        checks = _checks(shown, _bound(found, shown))
    return Answer(checks, _why(used), parts, used)


def _shown(found: Found, tasks: int) -> list[Summary]:
    """Return methods on one network, of the paper's sequence if it was run."""
    names = (f"Digits-10/{tasks}",) if found.quick else places(tasks)
    for name in names:
        plain = [s for s in found.honest(name) if is_plain(s) and s.preset in (None, "fast")]
        if shown := on_one_network(plain):
            return shown
    return []


def _bound(found: Found, shown: list[Summary]) -> Summary | None:
    """Return joint training of the same network."""
    place = f"{shown[0].sequence.rpartition('/')[0]}/1"
    same = [
        s
        for s in found.honest(place)
        if s.method == BOUND and network_name(s) == network_name(shown[0])
    ]
    return next(iter(same), None)


def _checks(shown: list[Summary], bound: Summary | None) -> list[Check]:
    rules = [s for s in shown if s.method == "clsnet-paper"]
    if not rules:
        return []
    rule = max(rules, key=lambda s: (len(s.runs), s.mean("avg_acc") or 0.0))
    named = {name for name, one in methods().items() if one.paper and one.family not in OWN}
    others = [s for s in shown if s.method in named or s.method in PEERS]
    leading = [s for s in others if not ahead(rule, s)]
    mean = rule.mean("avg_acc") or 0.0
    checks = []
    if others:
        first = max(others, key=lambda s: s.mean("avg_acc") or 0.0)
        checks.append(
            Check(
                f"On {rule.sequence} the paper's rule ends at {mean:.4f}; {len(leading)} of "
                f"{len(others)} other methods are not behind it, the best of them {first.method} "
                f"({first.mean('avg_acc'):.4f}).",
                not leading,
            )
        )
    if bound:
        joint = bound.mean("avg_acc") or 0.0
        checks.append(
            Check(
                f"Joint training of all layers reaches {joint:.4f}, "
                f"{100 * (joint - mean):.2f} points more than the paper's rule.",
                joint - mean < BELOW_JOINT,
            )
        )
    return checks


OWN = ("ours", "bound")


def _why(used: list[Summary]) -> str:
    if not used:
        return "There are no runs on CIFAR-100 or on Tiny-ImageNet."
    sequences = [s.sequence for s in used]
    sentences = []
    if not any(name.startswith("CIFAR") for name in sequences):
        stand_in = sequences[0].rpartition("-")[0]
        sentences.append(
            f"CIFAR-100 is not here, so these are runs on {stand_in}; its classes are others than "
            "those that the network was pretrained on."
            if stand_in == "TinyImageNet"
            else f"These are runs on {stand_in}."
        )
    last = [s for s in used if s.method == "clsnet" and s.sequence == sequences[-1]]
    if last:
        best = max(last, key=lambda s: s.mean("avg_acc") or 0.0)
        sentences.append(
            f"With the full curvature, {best.method} reaches {best.mean('avg_acc'):.4f} on "
            f"{best.sequence}."
        )
    return " ".join(sentences)


def _plain(method: Method) -> Needed:
    return Needed((), method.name, preset="fast" if method.presets else None)


def _runs(method: Method, sequence: str) -> Needed:
    options = TUNED if method.name == "clsnet-paper" else {}
    return replace(_plain(method), sequences=(sequence,), options=options, orders=1)


EXPERIMENT = Experiment(
    number=2,
    name="cifar",
    module=__name__,
    title="Accuracy after each task on CIFAR-100",
    place="Figure 3",
    claim="CLSNet is ahead in each session of CIFAR-100/10, at the end by 1.94 % over the second "
    "best, and 8.07 % below joint training.",
)
