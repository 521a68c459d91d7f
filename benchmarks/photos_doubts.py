"""How many labels made wrong on purpose `clsnet learn` names, and how many others.

    python benchmarks/photos_doubts.py DIR NAME [--out results/bench/photos_doubts.json]

DIR holds one folder of photos for each class. Some classes are drawn at random, and 5 % of their
photos get the name of another one. The result is added to the file under NAME.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from clsnet.classifier.left_out import left_out_scores
from clsnet.evaluation.store import environment
from clsnet.photos.doubts import doubtful
from clsnet.photos.finding import Photo
from clsnet.photos.opening import blank_model
from photos_trust import read

WRONG = 0.05  # share of the labels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--learn", type=int, default=50, help="photos of each class")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--cache", type=Path, help="a file for the features of photos")
    parser.add_argument("--out", type=Path, default=Path("results/bench/photos_doubts.json"))
    options = parser.parse_args()
    options.test = 0
    blank = blank_model()
    A, y = read(options, [], blank)
    named = right = wrong = n = 0
    for split in range(options.splits):
        random = np.random.RandomState(split)
        classes = random.permutation(np.unique(y))[: options.classes]
        rows = [random.permutation(np.flatnonzero(y == c))[: options.learn] for c in classes]
        mine = np.concatenate(rows)
        labels = y[mine].copy()
        chosen = random.permutation(len(mine))[: round(WRONG * len(mine))]
        for i in chosen:
            labels[i] = random.choice(classes[classes != labels[i]])
        classifier = blank.unlearned().classifier.learn(
            lambda mine=mine, labels=labels: [(A[mine], labels)]
        )
        photos = [Photo(Path(str(i)), str(label), str(i)) for i, label in enumerate(labels)]
        scores = left_out_scores(classifier, A[mine], labels)
        found = {int(str(d.path)) for d in doubtful(classifier, A[mine], photos, scores)}
        named, right = named + len(found), right + len(found & {*chosen.tolist()})
        wrong, n = wrong + len(chosen), n + len(mine)
    figures = {
        "share named": round(named / n, 4),
        "named, and wrong": round(right / max(named, 1), 4),
        "wrong, and named": round(right / wrong, 4),
    }
    print(options.name, figures)
    old = json.loads(options.out.read_text()) if options.out.exists() else {}
    settings = {key: getattr(options, key) for key in ("classes", "learn", "splits")}
    new = {
        "table": {**old.get("table", {}), options.name: figures},
        "settings": {**old.get("settings", {}), options.name: settings},
        "environment": environment(),
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(new, indent=1) + "\n")


if __name__ == "__main__":
    main()
