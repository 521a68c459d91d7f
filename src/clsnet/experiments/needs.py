"""What an experiment needs: runs of methods, and other measurements."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clsnet.data import TaskSequence
from clsnet.evaluation.harness import Job
from clsnet.evaluation.protocol import AGNOSTIC, DEMO
from clsnet.evaluation.summaries import Summary
from clsnet.storage.schema import Kind

ORDERS = 5
Key = tuple[tuple[str, ...], str, str]
"""What tells runs apart: sequences, method and folder."""
SEEDS = (0, 1, 2)  # of networks, each pretrained on classes of its own


@dataclass(frozen=True)
class Needed:
    """Runs of one method in one configuration.

    Attributes
    ----------
    sequences
        Task sequences; the first whose data is there is run, the others are its stand-ins.
    method, options, preset, protocol, tune
        As for ``clsnet bench``.
    orders, seeds
        How many class orders, and with which seeds.
    network
        Kind of the frozen network, such as ``"resnet18"``; None for pixels.

    Examples
    --------
    >>> Needed(("Digits-10/5",), "clsnet-demo", {"terms": (1, 2), "gamma": 1e6}).folder
    'terms=1-2,gamma=1e+06'
    """

    sequences: Sequence[str]
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    preset: str | None = None
    protocol: str = AGNOSTIC
    tune: bool = False
    orders: int = ORDERS
    seeds: Sequence[int] = (0,)
    network: str | None = None

    @property
    def folder(self) -> str:
        """Name of the folder that keeps runs of this configuration apart from others."""
        words = [self.preset, "tuned" if self.tune else None]
        words += [f"{name}={_word(value)}" for name, value in self.options.items()]
        words += [self.network, "leaking" if self.protocol == DEMO else None]
        return ",".join(filter(None, words)) or "plain"

    @property
    def key(self) -> Key:
        """What tells these runs apart from others."""
        return tuple(self.sequences), self.method, self.folder

    @property
    def title(self) -> str:
        """Method and configuration, as messages name them."""
        options = [f"{name}={value}" for name, value in self.options.items()]
        words = [self.method, self.preset, "tuned" if self.tune else None, *options]
        words += [self.network, "LEAKING protocol" if self.protocol == DEMO else None]
        return ", ".join(filter(None, words))

    def matches(self, summary: Summary) -> bool:
        """Whether a summary is of this configuration, on one of the sequences."""
        kind = (summary.method, summary.preset, summary.protocol, summary.tuned)
        if kind != (self.method, self.preset, self.protocol, self.tune):
            return False
        run = summary.runs[0]
        aside = {"preset", "tune", "backbone"}
        aside.update(run.get("chosen", run["config"] if self.tune else ()))  # by tuning
        given = {name: value for name, value in run["config"].items() if name not in aside}
        wanted = json.loads(json.dumps(dict(self.options)))  # as a file would hold it
        return summary.sequence in self.sequences and given == wanted

    def jobs(self, out: Path, seed: int, backbone: str | None, digest: str | None) -> list[Job]:
        """Return the runs of one seed."""
        network = {"backbone": backbone} if backbone else {}
        place = out / self.folder / (f"seed{seed}" if len(self.seeds) > 1 else "")
        return [
            Job(
                method=self.method,
                index=index,
                seed=seed,
                preset=self.preset,
                protocol=self.protocol,
                tune=self.tune,
                out=place,
                options=tuple({**self.options, **network}.items()),
                cache=out / "features" if backbone else None,
                network=digest,
            )
            for index in range(self.orders)
        ]


@dataclass(frozen=True)
class Measurement:
    """Something that is no run: computed once from a sequence, and kept as a file.

    Attributes
    ----------
    name
        Name of its file, beside the runs of the sequence.
    sequence
        Task sequence.
    compute
        Returns what JSON can hold, the same for the same sequence.
    accepts
        What the file may hold of it.
    """

    name: str
    sequence: str
    compute: Callable[[TaskSequence], dict[str, Any]]
    accepts: Kind

    @property
    def key(self) -> Key:
        """What tells it apart from others."""
        return (self.sequence,), self.name, ""


@dataclass(frozen=True)
class Needs:
    """All that an experiment needs."""

    runs: Sequence[Needed] = ()
    measurements: Sequence[Measurement] = ()


def _word(value: Any) -> str:
    """Write a value so that a folder of any system can be named after it."""
    if isinstance(value, tuple):
        return "-".join(map(str, value)) or "none"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return re.sub(r"[^\w.+-]", "_", text.replace("*", "star"))
