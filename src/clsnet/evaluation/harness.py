"""Running one method on one order, or reading the stored run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clsnet import __version__
from clsnet.arrays.ranks import rank
from clsnet.arrays.restarts import folder_beside, surviving
from clsnet.data import TaskSequence
from clsnet.errors import ClsnetError
from clsnet.evaluation.answers import Answers
from clsnet.evaluation.pretrained_classes import pretrained_classes
from clsnet.evaluation.protocol import DEMO, evaluate
from clsnet.evaluation.store import read_run, record, run_path, write_run
from clsnet.evaluation.tuning import tune
from clsnet.extractor.backbones import Network, resolve_backbone
from clsnet.methods import Method, get_method

Progress = Callable[[int, str, float | None], None]


@dataclass(frozen=True)
class Job:
    """A run to do and the place of its file; `network` is the digest of a frozen network."""

    method: str
    index: int
    seed: int
    preset: str | None
    protocol: str
    tune: bool
    out: Path
    options: tuple[tuple[str, Any], ...] = ()
    cache: Path | None = None
    network: str | None = None

    def path(self, sequence: TaskSequence) -> Path:
        """Return the file of this run."""
        return run_path(self.out, sequence.name, self.method, self.index)

    def config(self) -> dict[str, Any]:
        """Return the configuration, which distinguishes this run from others of the same method."""
        return {"preset": self.preset, "tune": self.tune, **dict(self.options)}

    def stored(self, sequence: TaskSequence) -> dict[str, Any] | None:
        """Return the finished run, if it is there; refuse one of another configuration."""
        path = self.path(sequence)
        if not path.exists():
            return None
        run = read_run(path)
        rest = {
            "seed": self.seed,
            "protocol": self.protocol,
            "version": __version__,
            "network": self.network,
            "folder": sequence.dataset.folder,
        }
        wanted = json.loads(json.dumps({**self.config(), **rest}))  # as a file would hold it
        found = {**run["config"], **{key: run.get(key) for key in rest}}
        keys = wanted if self.tune else {**wanted, **found}  # tuning adds what it chose
        differing = [key for key in keys if wanted.get(key) != found.get(key)]
        if differing:
            raise ClsnetError(
                f"{path} holds a run with another {differing[0]} ({found.get(differing[0])}); "
                "choose another --out, or move it away."
            )
        return run

    def run(self, sequence: TaskSequence, progress: Progress) -> dict[str, Any]:
        """Run the job and store it."""
        method = get_method(self.method)
        shuffle = "tasks" if self.protocol == DEMO else "classes"
        order = sequence.order(self.seed, self.index, shuffle)
        tasks = sequence.tasks(order)
        options, tuned = dict(self.options), None
        frozen = method.backbones and not method.finetunes
        kept = {"cache": self.cache} if self.cache and frozen else {}
        if self.tune and method.grid:

            def tried(options: dict[str, Any], accuracy: float) -> None:
                said = (
                    f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
                    for name, value in options.items()
                )
                progress(0, f"tuning {', '.join(said)}", accuracy)

            progress(0, "tuning", None)
            tuned = tune(method, tasks, self.seed, self.preset, options | kept, tried)
            options |= tuned.options
        with surviving(folder_beside(self.path(sequence))):
            outcome = evaluate(
                lambda: method.build(self.seed, self.preset, **options, **kept),
                tasks,
                self.protocol,
                progress,
            )
        run = record(
            outcome,
            sequence=sequence.name,
            method=self.method,
            config={**self.config(), **options},
            order=order,
            seed=self.seed,
            protocol=self.protocol,
            answers=Answers.of(outcome.right, tasks, sequence.dataset.y_test),
        )
        backbone = options.get("backbone", "auto" if method.presets else "identity")
        known = pretrained_classes(backbone, sequence, self.seed)
        if known or "backbone" in options:
            run["seen_classes"] = len(known)
        if tuned:
            run["chosen"] = list(tuned.options)
            run["tuning"] = {"tried": tuned.n_tried, "on_edge": tuned.on_edge}
        if self.network:
            run["network"] = self.network
        if sequence.dataset.folder:
            run["folder"] = sequence.dataset.folder
        if rank() == 0:
            write_run(self.path(sequence), run)
        return run


def network_digest(backbone: str, sequence: TaskSequence) -> str | None:
    """Return the digest of a frozen network, wherever its weights lie, or None if it is none."""
    network = resolve_backbone(backbone, sequence.dataset.X_train.shape[1:])
    return network.fingerprint if isinstance(network, Network) else None


def check_backbone(method: Method) -> None:
    """Refuse a backbone for a method that has none."""
    if not method.backbones:
        raise ClsnetError(f"the method {method.name!r} sees samples as they are; no --backbone.")


def check_protocol(method: Method, protocol: str) -> None:
    """Refuse to refit a representation that a method does not have."""
    if protocol == DEMO and method.family != "ours":
        raise ClsnetError(
            f"--protocol demo refits a CLSNet's representation; {method.name} has none."
        )
