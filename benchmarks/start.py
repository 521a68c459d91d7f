"""Whole commands from start to end, over what they cannot do without.

    python benchmarks/start.py [--out results/bench/start.json]

``predict_over_imports``: ``clsnet predict`` of one photo with EfficientNet-Lite0 over
``python -c "import numpy, openvino"``. ``methods_over_help``: ``clsnet methods`` over
``clsnet --help``. The commands take turns; a ratio is the median over the rounds.
"""

from __future__ import annotations

import argparse
import json
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
        times: dict[str, list[float]] = {command: [] for command in commands}
        for number in range(ROUNDS + 1):
            for command, words in commands.items():
                start = time.perf_counter()
                subprocess.run(words, check=True, capture_output=True)
                if number:  # the first round fills the disk's cache
                    times[command].append(time.perf_counter() - start)
    found = {
        "predict_over_imports": ratio(times["predict"], times["imports"]),
        "methods_over_help": ratio(times["methods"], times["help"]),
        "rounds": ROUNDS,
        "command": "python benchmarks/start.py",
        "environment": environment(),
    }
    print(json.dumps(found, indent=1))
    out.write_text(json.dumps(found, indent=1) + "\n")


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
    main()
