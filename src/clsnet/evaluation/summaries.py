"""Summaries of runs: one per method, with mean and spread over seeds and orders."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clsnet.evaluation.protocol import DEMO
from clsnet.methods.registry import methods

IDENTITY = ("sequence", "method", "config", "order", "seed", "protocol", "network", "folder", "R")
TUNED_FORM = "form=tuned"


@dataclass(frozen=True)
class Summary:
    """Runs of one method in one configuration over several orders, and seeds.

    `common` holds options that all summaries in a table share, so titles omit them.
    """

    sequence: str
    method: str
    preset: str | None
    protocol: str
    tuned: bool
    runs: Sequence[dict[str, Any]]
    options: tuple[str, ...] = ()
    common: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Method and the options that distinguish it."""
        method = methods().get(self.method)
        variant = method.variant if method else None
        extras = [variant, self.preset, "tuned" if self.tuned else None]
        apart = [option for option in self.options if option not in self.common]
        extras += ["T" if o == TUNED_FORM else o.removeprefix("backbone=") for o in apart]
        extras.append("SEEN CLASSES" if self.seen else None)
        extras.append("LEAKING protocol" if self.protocol == DEMO else None)
        return ", ".join([self.method, *filter(None, extras)])

    @property
    def seen(self) -> bool:
        """Whether the backbone was pretrained on some of the classes."""
        return any(run.get("seen_classes") for run in self.runs)

    @property
    def machines(self) -> tuple[str, ...]:
        """The machines on which the runs were made."""
        places = (run["environment"] for run in self.runs)
        names = (_threads(one["threads"]) if one["gpu"] == "none" else one["gpu"] for one in places)
        return tuple(dict.fromkeys(names))

    @property
    def n_seeds(self) -> int:
        """Number of seeds, each with its own orders and, if classes are drawn, its own classes."""
        return len({run["seed"] for run in self.runs})

    @property
    def orders(self) -> str:
        """Number of orders per seed; "any" if they make no difference."""
        counts = sorted(Counter(run["seed"] for run in self.runs).values())
        if counts[-1] == 1 and all(run.get("order_free") for run in self.runs):
            return "any"
        return str(counts[0]) if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"

    @property
    def network_mb(self) -> float:
        """Size of the network that a method starts from and does not count as its model."""
        return statistics.fmean(run["memory"].get("backbone_mb", 0.0) for run in self.runs)

    def mean(self, name: str, *path: str) -> float | None:
        """Return the mean over runs of a field, such as ``("seconds", "learn")``.

        Seconds of different machines have no mean.
        """
        if name == "seconds" and len(self.machines) > 1:
            return None
        values = [_field(run, name, *path) for run in self.runs]
        return None if None in values else statistics.fmean(values)

    def spread(self, name: str) -> float:
        """Return the standard deviation over runs."""
        return float(statistics.pstdev(_field(run, name) for run in self.runs))

    def matrix(self) -> list[list[float]]:
        """Return R, averaged over runs."""
        rows = zip(*(run["R"] for run in self.runs), strict=True)
        return [[statistics.fmean(cells) for cells in zip(*row, strict=True)] for row in rows]


def summarise(runs: Iterable[dict[str, Any]]) -> list[Summary]:
    """Group runs that differ only in their order or their seed.

    Every seed may have its own network: files with the same name, in any folder, count as the same
    kind of network. Copies of a run count once.
    """
    groups: dict[Summary, list[dict[str, Any]]] = {}
    for run in _without_copies(runs):
        config = dict(run["config"])
        preset, tuned = config.pop("preset", None), bool(config.pop("tune", False))
        # What tuning chose may differ from order to order.
        chosen = run.get("chosen", [name for name in config if tuned and name != "backbone"])
        if str(config.get("backbone")).endswith(".safetensors"):
            config["backbone"] = Path(config["backbone"]).name
        given = tuple(f"{name}={value}" for name, value in config.items() if name not in chosen)
        kind = (run["sequence"], run["method"], preset, run["protocol"], tuned)
        groups.setdefault(Summary(*kind, runs=(), options=given), []).append(run)
    return [replace(kind, runs=group) for kind, group in groups.items()]


def told_apart(summaries: Sequence[Summary]) -> list[Summary]:
    """Leave options out of titles that all of several summaries have.

    Examples
    --------
    >>> one = Summary("A-2/1", "ncm", None, "agnostic", False, [], ("backbone=b", "views=1"))
    >>> [summary.title for summary in told_apart([one, replace(one, options=("backbone=b",))])]
    ['ncm, views=1', 'ncm']
    """
    first, *others = summaries
    if not others:
        return [first]
    shared = tuple(o for o in first.options if all(o in other.options for other in others))
    return [replace(summary, common=shared) for summary in summaries]


def _without_copies(runs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first of all runs that are and found the same."""
    found: dict[str, dict[str, Any]] = {}
    for run in runs:
        found.setdefault(json.dumps([run.get(key) for key in IDENTITY], sort_keys=True), run)
    return list(found.values())


def _threads(count: str) -> str:
    return f"{count} CPU thread" if count == "1" else f"{count} CPU threads"


def _field(run: dict[str, Any], name: str, *path: str) -> Any:
    value = run[name]
    for step in path:
        value = value[step]
    return value
