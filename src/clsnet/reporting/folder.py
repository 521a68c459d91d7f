"""The finished runs below a folder; a broken file is named, left out, and left alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clsnet.errors import ClsnetError
from clsnet.evaluation.store import OtherFormat, read_run


@dataclass(frozen=True)
class Folder:
    """What a folder holds: runs, each with its ``file``, and why other files are left out."""

    runs: list[dict[str, Any]]
    broken: list[str]


def read_folder(folder: Path) -> Folder:
    """Read every run below a folder, sorted by path; there has to be one."""
    found = Folder([], [])
    for path in sorted(folder.rglob("*.json")):
        if not path.stem.isdigit():
            continue
        try:
            run = _printable(read_run(path))
            _check(run)
        except OtherFormat as error:
            found.broken.append(str(error))
        except (ClsnetError, OSError, LookupError, TypeError, ValueError, AttributeError):
            found.broken.append(f"{path} is not a finished run")
        else:
            found.runs.append({**run, "file": path})
    if not found.runs:
        why = f"{found.broken[0]}." if found.broken else "make one with: clsnet bench"
        raise ClsnetError(f"{folder} holds no finished run; {why}")
    return found


def _check(run: dict[str, Any]) -> None:
    """Raise an error unless a run has everything that is reported."""
    tasks = int(run["sequence"].rpartition("/")[2])
    if [len(row) for row in run["R"]] != list(range(1, tasks + 1)):
        raise ValueError("R is not a triangle with a row for each task")
    figures = [cell for row in run["R"] for cell in row]
    figures += [run["avg_acc"], run["seconds"]["learn"], run["seed"]]
    figures += [run["memory"]["model_mb"], run["memory"]["exemplar_mb"]]
    figures.append(run["memory"].get("backbone_mb", 0.0))
    figures += [run[name] for name in ("bwt", "fwt") if run[name] is not None]
    words = [run["method"], run["protocol"], run["config"].get("preset") or ""]
    words += [run["environment"]["gpu"], run["environment"]["threads"]]
    words += run.get("tuning", {}).get("on_edge", [])
    if not all(abs(figure) < float("inf") for figure in figures):
        raise ValueError("a figure is not finite")
    if not all(isinstance(word, str) for word in words):
        raise TypeError("a name is not a text")


def _printable(value: Any) -> Any:
    """Replace what neither HTML nor SVG may hold, such as control characters."""
    if isinstance(value, str):
        return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in value)
    if isinstance(value, dict):
        return {_printable(key): _printable(item) for key, item in value.items()}
    return [_printable(item) for item in value] if isinstance(value, list) else value
