"""Whether an exported model answers in ONNX Runtime as `clsnet predict` does.

    python benchmarks/photos_export.py DIR [--out results/bench/photos_export.json]

DIR holds one folder of photos for each class (`train` of Tiny-ImageNet does). A model learns a few
photos of ten classes; 1,000 other photos, of these and of other classes, are put to both. The
exported file also prepares a photo of 2000x1500 pixels, in one thread.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime

from clsnet.evaluation.store import environment
from clsnet.images import Images
from clsnet.photos import export, learn, predict
from photos_trust import linked, photos_of

IMAGES = 1000
CLASSES = 10
LEARN = 20
BATCH = 50
LARGE = (1, 1500, 2000, 3)
TURNS = 5


def seconds(file: Path, size: int) -> dict[str, float]:
    """Return the CPU time that the file takes for a large photo, and for one in its own size."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # threads that wait for each other would count, too
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    took: dict[str, list[float]] = {"large_photo_cpu_s": [], "small_photo_cpu_s": []}
    for _ in range(TURNS):
        for times, shape in zip(took.values(), (LARGE, (1, size, size, 3)), strict=True):
            image = np.random.RandomState(0).randint(0, 256, shape).astype(np.uint8)
            start = time.process_time()
            session.run(None, {"images": image})
            times.append(time.process_time() - start)
    return {name: statistics.median(times) for name, times in took.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--out", type=Path, default=Path("results/bench/photos_export.json"))
    options = parser.parse_args()
    places = sorted(place for place in options.folder.iterdir() if place.is_dir())
    photos = {place.name: photos_of(place) for place in places}
    share = -(-IMAGES // len(photos))
    paths = [path for each in photos.values() for path in each[-share:]][:IMAGES]
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        chosen = {name: photos[name][:LEARN] for name in list(photos)[:CLASSES]}
        learn(place / "m.clsnet", linked(place / "photos", chosen))
        exported = export(place / "m.clsnet", place / "m.onnx")
        answers = predict(place / "m.clsnet", paths, top=CLASSES)
        session = onnxruntime.InferenceSession(place / "m.onnx", providers=["CPUExecutionProvider"])
        parts = []
        for start in range(0, len(paths), BATCH):
            images = np.asarray(Images(paths[start : start + BATCH], exported.image_size))
            parts.append(session.run(None, {"images": images.transpose(0, 2, 3, 1)}))
        took = seconds(place / "m.onnx", exported.image_size)
    chances, _, known = (np.concatenate(outputs) for outputs in zip(*parts, strict=True))
    column = {label: i for i, label in enumerate(exported.classes)}
    ours = np.zeros_like(chances)
    for row, answer in zip(ours, answers, strict=True):
        for label, chance in answer.top:
            row[column[label]] = chance
    same_reject = known == np.array([answer.label is not None for answer in answers])
    found = {
        "command": "python benchmarks/photos_export.py DIR",
        "images": len(paths),
        "same_top1_on": int((chances.argmax(axis=1) == ours.argmax(axis=1)).sum()),
        "same_none_of_these_on": int(same_reject.sum()),
        "largest_probability_difference": float(np.abs(chances - ours).max()),
        **took,
        "file_bytes": exported.size,
        "onnxruntime": onnxruntime.__version__,
        "note": "clsnet predict runs the network by OpenVINO here, ONNX Runtime the exported file",
        "environment": environment(),
    }
    print(json.dumps(found, indent=1))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
