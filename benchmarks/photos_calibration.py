"""Whether the photo tool's probabilities hold, and whether it notices classes never learned.

    python benchmarks/photos_calibration.py DIR [--out results/bench/photos_calibration.json]

DIR holds one folder of photos for each class (`train` of Tiny-ImageNet does). A model learns the
first classes in several calls of `clsnet.photos.learn`; the last photos of those classes, and of
as many others, are predicted.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.data.folder import ENDINGS
from clsnet.evaluation.store import environment
from clsnet.photos import learn, predict
from clsnet.photos.familiarity import class_sums, familiarity
from clsnet.photos.predicting import REJECT, opened
from clsnet.photos.reading import features
from draw import Draw

BINS = 15


def calibration(confidence: np.ndarray, right: np.ndarray) -> tuple[float, list[dict[str, float]]]:
    """Return the expected calibration error, and what each of the bins of equal width holds."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    rows = [
        {
            "photos": int((bins == i).sum()),
            "confidence": float(confidence[bins == i].mean()),
            "accuracy": float(right[bins == i].mean()),
        }
        for i in np.unique(bins)
    ]
    gaps = (row["photos"] * abs(row["confidence"] - row["accuracy"]) for row in rows)
    return sum(gaps) / len(right), rows


def scores_over_usual(
    classifier: AnalyticClassifier, scores: np.ndarray, sums: np.ndarray
) -> np.ndarray:
    """Return the best score of each photo over the mean score of its class, the rule of 0.1."""
    counts = [sum(task.counts.get(c, 0) for task in classifier.tasks) for c in classifier.labels]
    usual = (sums * classifier.omega).sum(axis=0) / np.array(counts)
    return scores.max(axis=1) / usual[scores.argmax(axis=1)]


def photos_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.name.lower().endswith(ENDINGS))


def linked(place: Path, classes: dict[str, list[Path]]) -> Path:
    for name, photos in classes.items():
        (place / name).mkdir(parents=True)
        for photo in photos:
            (place / name / photo.name).write_bytes(photo.read_bytes())
    return place


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--classes", type=int, default=20, help="known, and as many unknown")
    parser.add_argument("--learn", type=int, default=100, help="photos of each known class")
    parser.add_argument("--test", type=int, default=50, help="photos of each class")
    parser.add_argument("--calls", type=int, default=4, help="of learn, as many classes in each")
    parser.add_argument("--seed", type=int, default=0, help="of the order of classes")
    parser.add_argument("--note", default="")
    parser.add_argument("--out", type=Path, default=Path("results/bench/photos_calibration.json"))
    options = parser.parse_args()
    names = sorted(place.name for place in options.folder.iterdir() if place.is_dir())
    order = np.random.RandomState(options.seed).permutation(names)[: 2 * options.classes].tolist()
    photos = {name: photos_of(options.folder / name) for name in order}
    known, unknown = order[: options.classes], order[options.classes :]
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        model = place / "m.clsnet"
        for number, group in enumerate(np.array_split(known, options.calls)):
            chosen = {name: photos[name][: options.learn] for name in group.tolist()}
            learned = learn(model, linked(place / str(number), chosen))
            print(f"learned {learned.counts}", flush=True)
        tests = [(path, name) for name in order for path in photos[name][-options.test :]]
        paths = [path for path, _ in tests]
        answers = predict(model, paths)
        always = predict(model, paths, reject=0)
        taught = opened(model, ())
        A, _, _ = features(taught.extractor, paths, taught.sample_shape[-1])
        scores, sums = taught.classifier.scores(A), class_sums(taught.classifier)
        fits = familiarity(A, scores.argmax(axis=1), sums)
        beside_others = scores_over_usual(taught.classifier, scores, sums)
    is_known = np.array([name in known for _, name in tests])
    right = np.array([a.label == name for a, (_, name) in zip(always, tests, strict=True)])
    rejected = np.array([answer.label is None for answer in answers])
    confidence = np.array([answer.top[0][1] for answer in always])
    error, bins = calibration(confidence[is_known], right[is_known])
    found = {
        "command": f"python benchmarks/photos_calibration.py DIR --classes {options.classes} "
        f"--learn {options.learn} --test {options.test} --calls {options.calls} "
        f"--seed {options.seed}",
        "accuracy": float(right[is_known].mean()),
        "expected_calibration_error": error,
        "definition": f"{BINS} bins of equal width of the largest probability; mean over photos of "
        "|mean probability - accuracy| of their bin; known classes, nothing rejected",
        "auroc_known_or_not": float(roc_auc_score(is_known, fits)),
        "auroc_by_scores_that_depend_on_other_classes": float(
            roc_auc_score(is_known, beside_others)
        ),
        "reject": REJECT,
        "rejected_known": float(rejected[is_known].mean()),
        "rejected_unknown": float(rejected[~is_known].mean()),
        "known_classes": len(known),
        "unknown_classes": len(unknown),
        "photos_learned_of_each": options.learn,
        "photos_tested_of_each": options.test,
        "bins": bins,
        "note": options.note,
        "environment": environment(),
    }
    print(json.dumps({k: v for k, v in found.items() if k != "bins"}, indent=1))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=1) + "\n")
    title = f"{is_known.sum():,} photos of known classes; calibration error {error:.3f}"
    Draw(options.out.parent, options.out.stem).reliability("reliability", title, bins)


if __name__ == "__main__":
    main()
