"""Finished runs: one JSON file each, written when the run is complete."""

from __future__ import annotations

import importlib
import json
import platform
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy

from clsnet import __version__
from clsnet.data.sequences import tasks_in_name
from clsnet.errors import ClsnetError
from clsnet.evaluation.answers import Answers
from clsnet.evaluation.consistency import contradiction
from clsnet.evaluation.protocol import Outcome
from clsnet.storage import schema
from clsnet.storage.files import write_atomically
from clsnet.storage.json_text import read_json
from clsnet.storage.schema import FLAG, NOTHING, Misfit, listed, number, text, whole

FORMAT = 1
MOST_BYTES = 16 << 20
MOST_VALUES = 1 << 19  # R of a thousand tasks
SHARE = number(-2, 2)
SIZE = number(0, 1e15)
NAME = text(1000)
WORD = text(200, shortest=1)
WRITTEN = schema.record({"format": whole(0, 10**6), "version": text(100)}, closed=False)
RUN = schema.record(
    {
        "sequence": WORD,
        "method": WORD,
        "config": schema.record({}, {"preset": NAME | NOTHING}, closed=False),
        "order": listed(listed(whole(0, 10**9), 10**6), 10**6),
        "seed": whole(0, 2**64),
        "protocol": WORD,
        "R": listed(listed(number(0, 1), 10**4), 10**4, least=1),
        "avg_acc": number(0, 1),
        "bwt": SHARE | NOTHING,
        "fwt": SHARE | NOTHING,
        "seconds": schema.record({"learn": SIZE}, closed=False),
        "memory": schema.record(
            {"model_mb": SIZE, "exemplar_mb": SIZE}, {"backbone_mb": SIZE}, closed=False
        ),
        "environment": schema.record({"gpu": NAME, "threads": NAME}, closed=False),
    },
    {
        "independent": listed(number(0, 1), 10**4),
        "answers": schema.record(
            {
                "samples": whole(1, 10**8),
                "labels": NAME,
                **dict.fromkeys(("tested", "right"), text(MOST_BYTES)),
            }
        ),
        "order_free": FLAG | NOTHING,
        "seen_classes": whole(0, 10**9) | NOTHING,
        "network": NAME | NOTHING,
        "folder": NAME | NOTHING,
        "tuning": schema.record({}, {"on_edge": listed(NAME, 1000)}, closed=False),
        "chosen": listed(NAME, 1000),
    },
    closed=False,
)
"""What the file of a run may hold of what is read."""


class OtherFormat(ClsnetError):
    """A run that another version of clsnet wrote."""


class Contradiction(ClsnetError):
    """A run whose figures contradict each other."""


def run_path(folder: Path, sequence: str, method: str, order: int) -> Path:
    """Return where a run is kept: ``DIR/<sequence>/<method>/<order>.json``."""
    return folder / sequence / method / f"{order}.json"


def record(
    outcome: Outcome,
    *,
    sequence: str,
    method: str,
    config: dict[str, Any],
    order: Sequence[Sequence[int]],
    seed: int,
    protocol: str,
    answers: Answers,
) -> dict[str, Any]:
    """Return everything about a run that its file holds."""
    return {
        "sequence": sequence,
        "method": method,
        "config": config,
        "order": [list(classes) for classes in order],
        "seed": seed,
        "protocol": protocol,
        "R": outcome.R,
        "independent": outcome.independent,
        **outcome.metrics(),
        "answers": answers.packed(),
        "order_free": outcome.order_free,
        "seconds": outcome.seconds,
        "memory": outcome.memory,
        "environment": environment(),
        "format": FORMAT,
        "version": __version__,
    }


def environment() -> dict[str, str]:
    """Return what a figure may depend on."""
    pools = importlib.import_module("threadpoolctl").threadpool_info()
    torch = sys.modules.get("torch")
    has_gpu = torch is not None and torch.cuda.is_available()
    return {
        "python": platform.python_version(),
        "torch": _version("torch"),
        "numpy": numpy.__version__,
        "processor": platform.machine(),
        "threads": str(max((pool["num_threads"] for pool in pools), default=1)),
        "gpu": torch.cuda.get_device_name() if torch and has_gpu else "none",
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def write_run(path: Path, run: dict[str, Any]) -> None:
    """Write a run atomically; one that contradicts itself is refused."""
    if found := contradiction(run):
        raise Contradiction(f"{path} is not written, as the run contradicts itself: {found}.")
    check_writable(path.parent)
    write_atomically(path, (json.dumps(run, indent=1) + "\n").encode())


def check_writable(folder: Path) -> None:
    """Make a folder, or say why results cannot go there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ClsnetError(f"cannot write results to {folder}: {error.strerror}.") from None


def read_run(path: Path) -> dict[str, Any]:
    """Read a run, or say why the file is not one, or contradicts itself."""
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            raise Misfit(f"it is no file of at most {MOST_BYTES:,} bytes")
        run = read_json(path.read_bytes(), MOST_VALUES)
        WRITTEN.check(run, "it")
        if run["format"] != FORMAT:
            raise OtherFormat(f"{path} was written by clsnet {run['version']}, in another format")
        RUN.check(run, "it")
        if [len(row) for row in run["R"]] != list(range(1, len(run["R"]) + 1)):
            raise Misfit("it.R is not a triangle with a row for each task")
        if tasks_in_name(run["sequence"]) != len(run["R"]):
            raise Misfit("it.R has not as many rows as there are tasks")
        if "answers" in run:  # clsnet 0.1 did not write them
            Answers.unpacked(run["answers"])
    except OSError as error:
        raise ClsnetError(f"cannot read {path}: {error.strerror}.") from None
    except OtherFormat:
        raise
    except ValueError as error:
        raise ClsnetError(
            f"{path} is not a finished run; move it away to run it again: {error}."
        ) from None
    if found := contradiction(run):
        raise Contradiction(f"{path} contradicts itself; move it away to run it again: {found}.")
    return dict(run)


def read_runs(folder: Path, but: str | None = None) -> list[dict[str, Any]]:
    """Read every run below a folder `but` those in one folder of it, sorted by path."""
    paths = [path for path in sorted(folder.rglob("*.json")) if path.stem.isdigit()]
    return [read_run(path) for path in paths if path.relative_to(folder).parts[0] != but]
