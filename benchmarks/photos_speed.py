"""Times of the photo tool: learning beside the network alone, a cold start, the help.

    python benchmarks/photos_speed.py DIR NAME [--photos 1000] [--out FILE]

DIR holds one folder of photos for each class. A new model learns 1,000 of them, from their files to
the file of the model. The same network runs alone in OpenVINO, with the same settings and the batch
that suits it best, over photos that are decoded already. Both take turns, and so does decoding. CPU
time, summed over cores, is told beside the time by the clock: other work on the machine disturbs it
less. The result is added to the file under NAME.
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
from collections.abc import Callable
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from clsnet.cli import share_cores
from clsnet.evaluation.store import environment
from clsnet.extractor.backbones.efficientnet_lite import EfficientNetLite
from clsnet.extractor.backbones.tapped import TEXTURED
from clsnet.extractor.runtime.threads import n_threads
from clsnet.images import Images
from clsnet.images.decode import decode
from clsnet.photos import learn
from photos_trust import linked, photos_of

ALONE = 240  # photos that the network alone and decoding are timed on
BATCHES = (1, 4, 16)
STARTS = 5
SHOWN = (
    "network, ms",
    "decoding, ms",
    "learn, ms",
    "learn over network",
    "same, by the clock",
    "limit of decoding",
    "predict one photo, s",
)

COLD = """
import sys, time
from clsnet.cli import main, share_cores
share_cores()
import openvino, PIL.Image, clsnet.cli.app, clsnet.cli.showing, rich.table
import clsnet.extractor.backbones.efficientnet_lite, clsnet.photos.predicting
sys.argv = ["clsnet", "predict", *sys.argv[1:]]
clock, cores = time.perf_counter(), time.process_time()
try:
    main()
except SystemExit:
    pass
print(time.perf_counter() - clock, time.process_time() - cores)
"""


def chosen(folder: Path, number: int) -> dict[str, list[Path]]:
    """Return so many photos by class, as many of each as there are."""
    places = sorted(place for place in folder.iterdir() if place.is_dir())
    rounds = zip_longest(*([(place.name, path) for path in photos_of(place)] for place in places))
    found: dict[str, list[Path]] = {}
    for name, path in islice((pair for pair in chain(*rounds) if pair), number):
        found.setdefault(name, []).append(path)
    return found


def network(images: np.ndarray, batch: int) -> Callable[[], None]:
    """Return what runs the network alone over all images, as `learn` does with a batch of 1."""
    import openvino

    backbone = EfficientNetLite(TEXTURED, views=1)
    x, threads, core = backbone.normalised(images), n_threads(), openvino.Core()
    [runtime] = backbone._runtimes.values()
    model = core.read_model(runtime.graph().serialised())
    model.reshape([batch, *x.shape[1:]])
    settings = {"INFERENCE_PRECISION_HINT": "f32"}
    counts = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": threads}
    queue = openvino.AsyncInferQueue(
        core.compile_model(model, "CPU", settings | counts), 2 * threads
    )

    def run() -> None:
        for start in range(0, len(x), batch):
            queue.start_async([x[start : start + batch]], share_inputs=True)
        queue.wait_all()

    run()
    return run


def decoded(paths: list[Path], size: int) -> None:
    for path in paths:
        decode(path.read_bytes(), size)


def per_photo(n: int, run: Callable[..., Any], *arguments: Any) -> tuple[float, float]:
    """Return milliseconds by the clock and of CPU time, for one of n photos."""
    clock, cores = time.perf_counter(), time.process_time()
    run(*arguments)
    took = time.perf_counter() - clock, time.process_time() - cores
    return 1000 * took[0] / n, 1000 * took[1] / n


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
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--photos", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("results/bench/photos_speed.json"))
    options = parser.parse_args()
    command = str(Path(sys.executable).with_name("clsnet"))
    rounds: list[dict[str, float]] = []
    photos = chosen(options.folder, options.photos)
    paths = [path for each in photos.values() for path in each]
    some = paths[:: len(paths) // ALONE][:ALONE]
    images = np.asarray(Images(some, EfficientNetLite(TEXTURED, views=1).size))
    networks = {batch: network(images, batch) for batch in BATCHES}
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        linked(place / "photos", photos)
        for number in range(options.rounds):
            alone = {batch: per_photo(len(images), run) for batch, run in networks.items()}
            fastest = min(alone, key=lambda batch: alone[batch][1])
            network_ms, network_cpu_ms = alone[fastest]
            _, decoding_cpu_ms = per_photo(len(some), decoded, some, images.shape[-1])
            model = place / f"{number}.clsnet"
            learn_ms, learn_cpu_ms = per_photo(len(paths), learn, model, place / "photos")
            photo = str(paths[number])
            cold, cold_cores = zip(*(cold_s(str(model), photo) for _ in range(STARTS)), strict=True)
            rounds.append(
                {
                    "network, ms": network_cpu_ms,
                    "decoding, ms": decoding_cpu_ms,
                    "learn, ms": learn_cpu_ms,
                    "learn over network": network_cpu_ms / learn_cpu_ms,
                    "same, by the clock": network_ms / learn_ms,
                    "limit of decoding": network_cpu_ms / (network_cpu_ms + decoding_cpu_ms),
                    "predict one photo, s": statistics.median(cold),
                    "same, CPU time": statistics.median(cold_cores),
                    "clsnet --help, s": statistics.median(
                        timed([command, "--help"]) for _ in range(STARTS)
                    ),
                    "batch of the network alone": fastest,
                    "load of the machine": os.getloadavg()[0],
                }
            )
            print(rounds[-1], flush=True)
    medians = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    details = {"rounds": rounds, "photos": len(paths), "environment": environment()}
    old = json.loads(options.out.read_text()) if options.out.exists() else {}
    new = {
        "table": {
            **old.get("table", {}),
            options.name: {name: round(medians[name], 4) for name in SHOWN},
        },
        "details": {**old.get("details", {}), options.name: details},
    }
    print(json.dumps(new["table"], indent=1))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(new, indent=1) + "\n")


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled once, as installed
    share_cores()
    main()
