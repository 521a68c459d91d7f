"""Reading the finished runs in a folder; a broken file is named, skipped and not changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clsnet.errors import ClsnetError
from clsnet.evaluation.store import Contradiction, OtherFormat, read_run


@dataclass(frozen=True)
class Folder:
    """What a folder holds: runs, each with its ``file``, and why other files are left out."""

    runs: list[dict[str, Any]]
    broken: list[str]


def read_folder(folder: Path) -> Folder:
    """Read every run below a folder, sorted by path; there has to be one."""
    if not folder.is_dir():
        raise ClsnetError(f"there is no folder {folder}.")
    found = Folder([], [])
    for path in sorted(folder.rglob("*.json")):
        if not path.stem.isdigit():
            continue
        try:
            run = _printable(read_run(path))
        except (OtherFormat, Contradiction) as error:
            found.broken.append(str(error).removesuffix("."))
        except ClsnetError:
            found.broken.append(f"{path} is not a finished run")
        else:
            found.runs.append({**run, "file": path})
    if not found.runs:
        why = f"{found.broken[0]}." if found.broken else "make one with: clsnet bench"
        raise ClsnetError(f"{folder} holds no finished run; {why}")
    return found


def _printable(value: Any) -> Any:
    """Replace what neither HTML nor SVG may hold, such as control characters."""
    if isinstance(value, str):
        return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in value)
    if isinstance(value, dict):
        return {_printable(key): _printable(item) for key, item in value.items()}
    return [_printable(item) for item in value] if isinstance(value, list) else value
