"""Times of the photo tool: learning over the bare network, one photo from a cold start, the help.

    python benchmarks/photos_speed.py [--out results/bench/photos_speed.json]

Learning reads synthetic photos of 640x480 pixels from JPEG files; every time includes decoding.
Other work on the machine slows all alike, so ratios are of times of the same round; CPU time,
summed over cores, is told too.
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

from clsnet.cli import share_cores
from clsnet.evaluation.store import environment
from clsnet.extractor.backbones.efficientnet_lite import EfficientNetLite
from clsnet.images import Images
from clsnet.images.dead_leaves import dead_leaves
from clsnet.photos import learn
from runtime_over_eager import eager_torch

PHOTOS = 1000
CLASSES = 10
BARE = 128  # images that the bare network is timed on; its time grows with their number
BATCH = 32
STARTS = 5
LIMITS = {"learn_over_bare_network": 0.25, "predict_one_photo_s": 0.5, "help_s": 0.3}

COLD = """
import sys, time
from clsnet.cli import main, share_cores
share_cores()
import onnx, openvino, PIL.Image, clsnet.cli.app, clsnet.cli.showing, rich.table
import clsnet.extractor.backbones.efficientnet_lite, clsnet.photos.predicting
sys.argv = ["clsnet", "predict", *sys.argv[1:]]
clock, cores = time.perf_counter(), time.process_time()
try:
    main()
except SystemExit:
    pass
print(time.perf_counter() - clock, time.process_time() - cores)
"""


def make_photos(folder: Path) -> list[Path]:
    random = np.random.RandomState(0)
    leaves = (255 * dead_leaves(3 * 40, random)).astype(np.uint8)
    paths = []
    for i in range(PHOTOS):
        channels = leaves[random.choice(len(leaves), 3)].transpose(1, 2, 0)
        image = Image.fromarray(np.roll(channels, i, axis=(0, 1))).resize((640, 480))
        place = folder / f"class{i % CLASSES}"
        place.mkdir(parents=True, exist_ok=True)
        paths.append(place / f"{i}.jpg")
        image.save(paths[-1], quality=90)
    return paths


def bare_network_s(images: np.ndarray) -> tuple[float, float]:
    """Seconds, and those of all cores, that eager PyTorch would take for all photos."""
    backbone = EfficientNetLite("last", views=1)
    x = backbone.normalised(images)
    eager = eager_torch(backbone)
    eager(x[:BATCH])
    clock, cores = time.perf_counter(), time.process_time()
    for start in range(0, len(x), BATCH):
        eager(x[start : start + BATCH])
    scale = PHOTOS / len(images)
    return scale * (time.perf_counter() - clock), scale * (time.process_time() - cores)


def cold_s(model: str, photo: str) -> tuple[float, float]:
    run = [sys.executable, "-c", COLD, model, photo]
    clock, cores = subprocess.check_output(run, text=True).splitlines()[-1].split()
    return float(clock), float(cores)


def timed(run: list[str]) -> float:
    clock = time.perf_counter()
    subprocess.run(run, check=True, capture_output=True)
    return time.perf_counter() - clock


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("results/bench/photos_speed.json"))
    options = parser.parse_args()
    command = str(Path(sys.executable).with_name("clsnet"))
    rounds: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        paths = make_photos(place / "photos")
        images = np.asarray(Images(paths[:BARE], 224))
        for number in range(options.rounds):
            bare, bare_cores = bare_network_s(images)
            model = place / f"{number}.clsnet"
            clock, cores = time.perf_counter(), time.process_time()
            learn(model, place / "photos")
            took, took_cores = time.perf_counter() - clock, time.process_time() - cores
            photo = str(paths[number])
            cold, cold_cores = zip(*(cold_s(str(model), photo) for _ in range(STARTS)), strict=True)
            rounds.append(
                {
                    "bare_network_s": bare,
                    "learn_s": took,
                    "learn_over_bare_network": took / bare,
                    "learn_over_bare_network_in_cpu_time": took_cores / bare_cores,
                    "predict_one_photo_s": statistics.median(cold),
                    "predict_one_photo_fastest_s": min(cold),
                    "predict_one_photo_cpu_s": statistics.median(cold_cores),
                    "help_s": statistics.median(timed([command, "--help"]) for _ in range(STARTS)),
                    "load_of_the_machine": os.getloadavg()[0],
                }
            )
            print(rounds[-1], flush=True)
    medians = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    found = {
        "command": "python benchmarks/photos_speed.py",
        **medians,
        "limits": LIMITS,
        "rounds": rounds,
        "photos": PHOTOS,
        "note": f"The bare network is eager PyTorch over {BARE} decoded images, in batches of "
        f"{BATCH}, scaled to {PHOTOS}. One photo: the command after its imports, which read the "
        "model and the network's weights.",
        "environment": environment(),
    }
    print(json.dumps(medians, indent=1))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    share_cores()
    main()
