"""The commands that made a set of runs, from what the runs' files say."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from clsnet.evaluation.protocol import AGNOSTIC
from clsnet.evaluation.summaries import Summary


def commands(summary: Summary) -> list[str]:
    """Return one ``clsnet bench`` for each seed and folder that the runs come from."""
    batches: dict[tuple[int, Path | None, str], list[dict[str, Any]]] = {}
    for run in summary.runs:
        place = (run["seed"], _out(run), str(run["config"].get("backbone")))
        batches.setdefault(place, []).append(run)
    return [_command(summary, *place, runs) for place, runs in batches.items()]


def _command(
    summary: Summary, seed: int, out: Path | None, backbone: str, runs: list[dict[str, Any]]
) -> str:
    # The orders of a seed are numbered from 0, so the last one says how many there were.
    count = 1 + max(int(run["file"].stem) for run in runs)
    words = ["clsnet", "bench", summary.sequence, "--method", summary.method]
    words += ["--preset", summary.preset] if summary.preset else []
    words += ["--orders", str(count), "--seed", str(seed)]
    for option in summary.options:
        is_backbone = option.startswith("backbone=")
        words += ["--backbone", backbone] if is_backbone else ["--option", option]
    words += ["--allow-seen"] if summary.seen else []
    words += ["--tune"] if summary.tuned else []
    words += [] if summary.protocol == AGNOSTIC else ["--protocol", summary.protocol]
    words += ["--out", str(out)] if out else []
    return shlex.join(words)


def _out(run: dict[str, Any]) -> Path | None:
    """Return the folder DIR of ``DIR/<sequence>/<method>/<order>.json``, if it lies so."""
    tail = Path(run["sequence"], run["method"]).parts
    folder: Path = run["file"].parent
    return Path(*folder.parts[: -len(tail)]) if folder.parts[-len(tail) :] == tail else None
