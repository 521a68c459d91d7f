"""The rows of ``results/security.json``: one function each, given the seconds that it may take."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fuzz.file_corpus import BOMBS

ROOT = Path(__file__).parents[2]
CASES = 10_000
AT_ONCE = 1_000
ODD = 2_000
GIGABYTE = 1024.0  # in MB
SLOWEST = 10.0
Figures = dict[str, Any]


def generated_headers(seconds: float) -> Figures:
    """Edit headers and arrays of model files; their checksums are valid."""
    return _tried("headers", seconds)


def mutated_bytes(seconds: float) -> Figures:
    """Change bytes of model files at random."""
    return _tried("bytes", seconds)


def edited_runs(seconds: float) -> Figures:
    """Edit result files, and make the tables of a folder that has them."""
    found: Figures = child("edited_runs", 1, CASES, seconds)
    for line in found.pop("examples"):
        print(line, file=sys.stderr)
    return {**found, "as_it_must_be": not found["other"] and found["peak_mb"] < GIGABYTE}


def bombs_of_files(seconds: float) -> Figures:
    """Read small files of every format that ask for much, each alone, and then 64 at once."""
    alone = {name: child("bombs", name)[name] for name in BOMBS}
    together = child("bombs", "--together")
    outcomes = [one["what"] for one in alone.values()] + together.pop("outcomes")
    others = [what for what in outcomes if what not in ("answered", "refused")]
    peak = max(one["peak_mb"] for one in alone.values())
    slowest = max(one["seconds"] for one in alone.values())
    small = peak < GIGABYTE and together["peak_mb"] < 2 * GIGABYTE
    quick = slowest < SLOWEST and together["longest_by_the_clock_s"] < SLOWEST
    return {
        "files": len(alone),
        "other": others,
        "peak_mb": peak,
        "longest_s": slowest,
        "together": together,
        "peak_mb_of_each": {name: one["peak_mb"] for name, one in alone.items()},
        "as_it_must_be": not others and small and quick,
    }


def bombs_of_images(seconds: float) -> Figures:
    """Decode small files of every image format that ask for much, 64 at once."""
    found = child("image_bombs")
    quick = found["longest_by_the_clock_s"] < SLOWEST
    good = not found["other"] and found["peak_mb"] < 2 * GIGABYTE and quick
    return {**found, "as_it_must_be": good}


def odd_photos(seconds: float) -> Figures:
    """Learn and predict odd and damaged photos of every mode and format."""
    found = child("odd_photos", ODD)
    bad = ("crashes", "skipped_silently", "not_answered", "answered_differently")
    good = not any(found[name] for name in bad) and found["longest_s"] < SLOWEST
    return {**found, "as_it_must_be": good}


def forgotten(seconds: float) -> Figures:
    """Forget tasks and classes, and compare with fresh models that never saw them."""
    found = child("forgotten", seconds)
    kinds = ("labels", "probabilities", "rejections", "files")
    return {**found, "as_it_must_be": not any(found[kind] for kind in kinds)}


def hostile_names(seconds: float) -> Figures:
    """Put control characters, markup and formulas into every string, and read all output."""
    found = child("hostile_names", seconds)
    bad = found["formula_cells"] + found["control_characters_or_tracebacks"]
    return {**found, "as_it_must_be": not bad}


def killed_commands(seconds: float) -> Figures:
    """Kill commands at random moments, and look for lost models and runs."""
    found = child("killed_commands", seconds)
    return {**found, "as_it_must_be": not found["lost"]}


def killed_writes(seconds: float) -> Figures:
    """Kill commands at every call while they write, forget, purge, and look for traces."""
    found = child("killed_writes")
    return {**found, "as_it_must_be": not found["wrong"]}


ROWS: dict[str, Callable[[float], Figures]] = {
    "generated_headers": generated_headers,
    "mutated_bytes": mutated_bytes,
    "edited_runs": edited_runs,
    "bombs_of_files": bombs_of_files,
    "bombs_of_images": bombs_of_images,
    "odd_photos": odd_photos,
    "forgotten": forgotten,
    "hostile_names": hostile_names,
    "killed_commands": killed_commands,
    "killed_writes": killed_writes,
}


def _tried(kind: str, seconds: float) -> Figures:
    """Try cases in processes of a thousand each, until all are tried or time is up."""
    end = time.monotonic() + seconds
    total: Figures = dict.fromkeys(("cases", "answered", "refused", "other", "foreign"), 0)
    peak = longest = 0.0
    first = 1
    while first <= CASES and time.monotonic() < end:
        one = child("child", kind, first, AT_ONCE, end - time.monotonic())
        for name in total:
            total[name] += one[name]
        peak, longest = max(peak, one["peak_mb"]), max(longest, one["longest_s"])
        for line in (*one["examples"], *one["opened"]):
            print(line, file=sys.stderr)
        first += AT_ONCE
    bad = total["other"] + total["foreign"]
    good = not bad and peak < GIGABYTE and longest < SLOWEST
    return {**total, "peak_mb": peak, "longest_s": longest, "as_it_must_be": good}


def child(module: str, *arguments: Any) -> Any:
    """Run a module of this package in a process of its own, and return what it prints."""
    command = [sys.executable, "-m", f"tests.fuzz.{module}", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, cwd=ROOT)
    return json.loads(done.stdout)
