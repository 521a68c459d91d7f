"""Whole commands from start to end, over what they cannot do without.

    python benchmarks/start.py [--out results/bench/start.json]

``predict_over_imports``: ``clsnet predict`` of one photo with EfficientNet-Lite0 over
``python -c "import numpy, openvino"``. ``methods_over_help``: ``clsnet methods`` over
``clsnet --help``. The commands take turns; a ratio is the median over the rounds. CPU time, summed
over cores, is told beside the time by the clock: other work on the machine disturbs it less. Python
may keep compiled modules, as after an installation.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

from clsnet.evaluation.store import environment
from clsnet.photos import learn
from timing import ratio

ROUNDS = 15
PYTHON = [sys.executable]
CLSNET = [*PYTHON, "-m", "clsnet"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("results/bench/start.json"))
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        photo, model = _taught(folder)
        commands = {
            "imports": [*PYTHON, "-c", "import numpy, openvino"],
            "predict": [*CLSNET, "predict", str(model), str(photo)],
            "help": [*CLSNET, "--help"],
            "methods": [*CLSNET, "methods"],
        }
        clock: dict[str, list[float]] = {command: [] for command in commands}
        cores: dict[str, list[float]] = {command: [] for command in commands}
        for number in range(ROUNDS + 1):
            for command, words in commands.items():
                took = _spent(words)
                if number:  # the first round fills the disk's cache and compiles modules
                    clock[command].append(took[0])
                    cores[command].append(took[1])
    found = {
        "predict_over_imports": ratio(clock["predict"], clock["imports"]),
        "predict_over_imports_in_cpu_time": ratio(cores["predict"], cores["imports"]),
        "methods_over_help": ratio(clock["methods"], clock["help"]),
        "methods_over_help_in_cpu_time": ratio(cores["methods"], cores["help"]),
        **{f"{command}_s": statistics.median(clock[command]) for command in commands},
        **{f"{command}_cpu_s": statistics.median(cores[command]) for command in commands},
        "load_of_the_machine": os.getloadavg()[0],
        "rounds": ROUNDS,
        "command": "python benchmarks/start.py",
        "environment": environment(),
    }
    print(json.dumps(found, indent=1))
    out.write_text(json.dumps(found, indent=1) + "\n")


def _spent(words: list[str]) -> tuple[float, float]:
    """Return the seconds of a command by the clock, and those of CPU time."""
    start, before = time.perf_counter(), _children()
    subprocess.run(words, check=True, capture_output=True)
    return time.perf_counter() - start, _children() - before


def _children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _taught(folder: Path) -> tuple[Path, Path]:
    """Return a photo, and a model of two classes."""
    random = np.random.RandomState(0)
    for name, colour in {"rust": (150, 60, 20), "sea": (20, 80, 160)}.items():
        (folder / "photos" / name).mkdir(parents=True)
        for i in range(10):
            pixels = random.normal(colour, 25, (480, 640, 3)).clip(0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / "photos" / name / f"{i}.jpg")
    learn(folder / "m.clsnet", folder / "photos")
    return folder / "photos/sea/0.jpg", folder / "m.clsnet"


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    main()
