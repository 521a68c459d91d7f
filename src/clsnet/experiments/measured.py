"""Measurements that are no runs: one JSON file each, written when it is complete."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from clsnet import __version__
from clsnet.data import TaskSequence
from clsnet.errors import ClsnetError
from clsnet.evaluation.store import check_writable, environment
from clsnet.experiments.needs import Measurement
from clsnet.storage import schema
from clsnet.storage.files import write_atomically
from clsnet.storage.json_text import LONGEST, read_json
from clsnet.storage.regular_files import read_regular

FORMAT = 1


def measured_path(folder: Path, measurement: Measurement) -> Path:
    """Return where a measurement is kept: ``DIR/<sequence>/<name>.json``."""
    return folder / measurement.sequence / f"{measurement.name}.json"


def measure(measurement: Measurement, sequence: TaskSequence, folder: Path) -> dict[str, Any]:
    """Return what was measured, if it is there; else compute and keep it."""
    path = measured_path(folder, measurement)
    if path.exists():
        return read_measured(path, measurement)
    check_writable(path.parent)
    clock = time.perf_counter()
    values = measurement.compute(sequence)
    kept = {
        "measurement": measurement.name,
        "sequence": measurement.sequence,
        "values": values,
        "seconds": time.perf_counter() - clock,
        "environment": environment(),
        "format": FORMAT,
        "version": __version__,
    }
    write_atomically(path, (json.dumps(kept) + "\n").encode())
    return read_measured(path, measurement)  # as a file holds it, so that a second time is the same


def find_measured(measurement: Measurement, folder: Path) -> dict[str, Any] | None:
    """Return what was measured, wherever it lies below a folder; None if it is nowhere."""
    name = f"{measurement.sequence}/{measurement.name}.json"
    for path in sorted(folder.rglob(name)):
        return read_measured(path, measurement)
    return None


def read_measured(path: Path, measurement: Measurement) -> dict[str, Any]:
    """Read a measurement, or say why the file is not that."""
    kept = schema.record(
        {
            "measurement": schema.one_of(measurement.name),
            "sequence": schema.one_of(measurement.sequence),
            "values": measurement.accepts,
            "seconds": schema.number(0),
            "environment": schema.record(
                {"gpu": schema.text(1000), "threads": schema.text(1000)}, closed=False
            ),
            "format": schema.one_of(FORMAT),
        },
        closed=False,
    )
    try:
        found = read_json(read_regular(path, LONGEST))
        kept.check(found, "it")
    except OSError as error:
        raise ClsnetError(f"cannot read {path}: {error.strerror}.") from None
    except schema.Misfit as error:
        raise ClsnetError(
            f"{path} is no finished measurement; move it away to measure again: {error}."
        ) from None
    return dict(found)
