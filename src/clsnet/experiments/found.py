"""What is there of what an experiment needs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from clsnet.evaluation.comparison import AHEAD, compare
from clsnet.evaluation.metrics import average_accuracy
from clsnet.evaluation.protocol import AGNOSTIC
from clsnet.evaluation.summaries import Summary, summarise
from clsnet.experiments.needs import Key, Measurement, Needed, Needs
from clsnet.experiments.networks import ON_IMAGENET, SIMSIAM

Name = TypeVar("Name")
PLAIN: dict[str, set[str]] = {
    "clsnet": {"backbone"},
    "clsnet-paper": {"backbone", "gamma", "ridge"},
    "clsnet-demo": set(),
}
"""Options of our own methods that are no ablation."""


@dataclass(frozen=True)
class Found:
    """Runs and measurements.

    Attributes
    ----------
    quick
        Whether the reduced form is asked for.
    summaries
        All runs, summed up.
    measured
        Files of measurements, by name and sequence.
    problems
        Why runs are not there.
    """

    quick: bool
    summaries: Sequence[Summary]
    measured: Mapping[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    problems: Mapping[Key, str] = field(default_factory=dict)

    @classmethod
    def of(cls, quick: bool, runs: Iterable[dict[str, Any]], **more: Any) -> Found:
        """Sum up runs; of the same run in two files, the one by the newer version counts."""
        newest: dict[str, dict[str, Any]] = {}
        for run in sorted(runs, key=lambda run: ("answers" in run, run["version"])):
            config = {k: v for k, v in run["config"].items() if k not in run.get("chosen", ())}
            same = (run["sequence"], run["method"], run["protocol"], run["seed"], run["order"])
            newest[json.dumps([*same, config], sort_keys=True)] = run
        return cls(quick, summarise(newest[key] for key in sorted(newest)), **more)

    def get(self, needed: Needed, network: str | None = None) -> Summary | None:
        """Return the runs that are needed, of the first sequence that has any.

        Where there are several networks, those of the one of that name, or with the most runs.
        """
        matching = [s for s in self.summaries if needed.matches(s) and on_network(s, needed)]
        matching = [s for s in matching if network in (None, network_name(s))]
        places = list(needed.sequences)
        return min(matching, key=lambda s: (places.index(s.sequence), -len(s.runs)), default=None)

    def honest(self, sequence: str) -> list[Summary]:
        """Return all runs on a sequence that were honestly tested."""
        return [s for s in self.summaries if (s.sequence, s.protocol) == (sequence, AGNOSTIC)]

    def values(self, measurement: Measurement) -> dict[str, Any] | None:
        """Return what was measured, or None."""
        kept = self.measured.get((measurement.name, measurement.sequence))
        return None if kept is None else dict(kept["values"])

    def stopped(self, needs: Needs) -> bool:
        """Whether something kept what is needed from being computed, such as missing data."""
        keys = [one.key for one in needs.runs] + [one.key for one in needs.measurements]
        return any(key in self.problems for key in keys)

    def missing(self, needs: Needs) -> list[str]:
        """Say what is not there of what is needed, and why."""
        lines: dict[tuple[str, str], list[str]] = {}
        for needed in needs.runs:
            summary, wanted = self.get(needed), needed.orders * len(needed.seeds)
            if summary is None:
                what, where = needed.title, " or ".join(needed.sequences)
            else:
                enough = len(needed.seeds) if summary.orders == "any" else wanted
                lacking = enough - len(summary.runs)
                what, where = f"{lacking} of {wanted} runs of {needed.title}", summary.sequence
                if lacking <= 0:
                    continue
            lines.setdefault((where, self.problems.get(needed.key, "")), []).append(what)
        for one in needs.measurements:
            if self.values(one) is None:
                why = self.problems.get(one.key, "")
                lines.setdefault((one.sequence, why), []).append(one.name)
        return [
            f"{_some(what)} on {where}" + (f": {why}" if why else "")
            for (where, why), what in lines.items()
        ]


def network_name(summary: Summary) -> str:
    """Return the file name of a frozen network, "" where there is none."""
    names = (o.removeprefix("backbone=") for o in summary.options if o.startswith("backbone="))
    return next(names, "")


def on_network(summary: Summary, needed: Needed) -> bool:
    """Return whether runs have the kind of network that is needed: with SimSiam or without."""
    name = network_name(summary)
    if (needed.network or "").endswith(SIMSIAM):
        return SIMSIAM in name or name == ON_IMAGENET
    return SIMSIAM not in name


def is_plain(summary: Summary) -> bool:
    """Whether runs are of a method as it is, and no ablation of our own methods."""
    names = {option.partition("=")[0] for option in summary.options}
    return names <= PLAIN.get(summary.method, names)


def curve(summary: Summary) -> list[float]:
    """Return the mean accuracy on all tasks so far, after each task."""
    R = summary.matrix()
    return [average_accuracy(R[: i + 1]) for i in range(len(R))]


def _some(names: Sequence[str], most: int = 12) -> str:
    """Write names, not too many of them."""
    shown = list(dict.fromkeys(names))
    more = f"; and {len(shown) - most} more" if len(shown) > most else ""
    return "; ".join(shown[:most]) + more


def on_same_orders(runs: Mapping[Name, Summary | None]) -> dict[Name, Summary]:
    """Return those summaries that there are, each with the orders that all of them have.

    Variants of a method compare only on the same orders of classes. Where one has none of the
    others' orders, all keep theirs.
    """
    known = {name: summary for name, summary in runs.items() if summary}
    shared = [{_order(run) for run in summary.runs} for summary in known.values()]
    common = set.intersection(*shared) if shared else set()
    if not common:
        return known
    return {
        name: replace(summary, runs=[run for run in summary.runs if _order(run) in common])
        for name, summary in known.items()
    }


def _order(run: dict[str, Any]) -> str:
    return json.dumps([run["seed"], run["order"]])


def ahead(one: Summary, other: Summary) -> bool:
    """Whether one method is more accurate than another.

    The interval of their difference has to say so. Where there is none, or it does not decide,
    the one has to be more accurate in every order that both have.
    """
    found = compare(one.runs, other.runs)
    if found is not None and found.verdict:
        return found.verdict == AHEAD
    mine, theirs = ({_order(run): run["avg_acc"] for run in s.runs} for s in (one, other))
    if common := mine.keys() & theirs.keys():
        return all(mine[order] > theirs[order] for order in common)
    return (one.mean("avg_acc") or 0.0) > (other.mean("avg_acc") or 0.0)
