"""How well photos of unknown classes can be told by several measures, split by split.

    python benchmarks/photos_unknown.py DIR [--preset best] [--out FILE]

DIR holds one folder of photos for each of six classes, such as TrashNet. Three of them are learned
in every split; the splits are those of `photos_trust.py`. A figure is the AUROC of photos of known
against photos of unknown classes. The last two columns see what a model cannot: a ridge regression
that learned 80 photos of each unknown class too, and a logistic regression of all measures,
fitted to the very photos that it is tested on.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from clsnet.evaluation.store import environment
from clsnet.model import Model
from clsnet.photos.familiarity import unit_length
from clsnet.photos.opening import blank_model
from clsnet.photos.presets import PRESETS
from clsnet.photos.record import Record
from clsnet.photos.rejection import Looks
from clsnet.photos.unscaled import Unscaled
from photos_trust import drawn, read, taught

NEIGHBOURS = 5


def relative_mahalanobis(
    X: np.ndarray, y: np.ndarray, tests: np.ndarray, shrinkage: float
) -> np.ndarray:
    """Return the distance to the mean of all photos less that to the nearest mean of a class."""
    classes, codes = np.unique(y, return_inverse=True)
    means = np.stack([X[codes == i].mean(axis=0) for i in range(len(classes))])

    def distances(residuals: np.ndarray, centres: np.ndarray) -> np.ndarray:
        covariance = residuals.T @ residuals / len(residuals)
        even = np.trace(covariance) / len(covariance) * np.eye(len(covariance))
        lower = np.linalg.cholesky((1 - shrinkage) * covariance + shrinkage * even)
        each = [solve_triangular(lower, (tests - c).T, lower=True) ** 2 for c in centres]
        return np.stack([squares.sum(axis=0) for squares in each])

    centre = X.mean(axis=0)
    overall = distances(X - centre, centre[None])[0]
    return overall - distances(X - means[codes], means).min(axis=0)


def all_learned(
    blank: Model, A: np.ndarray, y: np.ndarray, train: np.ndarray, tests: np.ndarray
) -> np.ndarray:
    """Return the best score of a known class less that of an unknown one, all being learned."""
    rest = np.setdiff1d(np.arange(len(y)), tests)
    classifier = blank.classifier.learn(lambda: [(A[rest], y[rest])])
    scores, known = classifier.scores(A[tests]), np.isin(classifier.labels, y[train])
    return scores[:, known].max(axis=1) - scores[:, ~known].max(axis=1)


def measures(
    blank: Model, A: np.ndarray, y: np.ndarray, train: np.ndarray, tests: np.ndarray
) -> dict[str, np.ndarray]:
    model = taught(blank, A[train], y[train], [np.unique(y[train])])
    scores, unscaled = model.classifier.scores(A[tests]), Unscaled.of(model.extractor)
    taken, n = scores.argmax(axis=1), len(tests)
    scaled, plain = Looks(model.classifier), Looks(model.classifier, unscaled)
    alone = Looks(model.classifier, replace(unscaled, textures=None))
    textures = Looks(model.classifier, unscaled.textures or unscaled)
    each = np.stack([plain.familiar(A[tests], np.full(n, i)) for i in range(scores.shape[1])])
    roots = unscaled(A.astype(float))
    width = roots.shape[1] - (unscaled.end is None)  # without the constant
    X = unit_length(A.astype(float)[:, :width], axis=1)
    pooled = unit_length(roots[:, :width] ** 2, axis=1)
    nearest = np.sort(pooled[tests] @ pooled[train].T, axis=1)[:, -NEIGHBOURS]
    return {
        "clsnet": Record.of(model.notes or {}).rejection.fits(
            each[taken, np.arange(n)], scores.max(axis=1)
        ),
        "familiarity": each[taken, np.arange(n)],
        "same, pooled outputs alone": alone.familiar(A[tests], taken),
        "same, textures alone": textures.familiar(A[tests], taken),
        "same, features scaled": scaled.familiar(A[tests], taken),
        "to the most familiar class": each.max(axis=0),
        "same, less half the mean of all": each.max(axis=0) - each.mean(axis=0) / 2,
        "highest score": scores.max(axis=1),
        "relative Mahalanobis, pooled outputs": relative_mahalanobis(
            pooled[train], y[train], pooled[tests], 0.3
        ),
        "same, features scaled, 0.3": relative_mahalanobis(X[train], y[train], X[tests], 0.3),
        "same, 0.9": relative_mahalanobis(X[train], y[train], X[tests], 0.9),
        "5 neighbours, features kept": nearest,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--preset", choices=PRESETS, default="fast")
    parser.add_argument("--cache", type=Path, help="a file for the features of photos")
    parser.add_argument("--out", type=Path, default=Path("results/bench/photos_unknown.json"))
    options = parser.parse_args()
    vars(options).update(classes=3, unknown=3, learn=80, test=57, splits=20)
    blank = blank_model(PRESETS[options.preset])
    A, y = read(options, [], blank)
    blank = Model.blank(blank.extractor, blank.sample_shape, blank.parameters)
    splits = {}
    for split in range(options.splits):
        known, train, tests = drawn(y, options, split)
        is_known = np.isin(y[tests], known)
        found = measures(blank, A, y, train, tests)
        columns = np.stack([(v - v[is_known].mean()) / v[is_known].std() for v in found.values()])
        found["unknown classes learned too"] = all_learned(blank, A, y, train, tests)
        fitted = LogisticRegression(max_iter=1000).fit(columns.T, is_known)
        found["all, fitted to the test"] = fitted.decision_function(columns.T)
        row = {name: round(float(roc_auc_score(is_known, v)), 3) for name, v in found.items()}
        splits[f"{split + 1}: {', '.join(sorted(known.tolist()))}"] = row
        print(split + 1, row, flush=True)
    rows = list(splits.values())
    means = {
        name: {
            "first 3 splits": round(float(np.mean([row[name] for row in rows[:3]])), 3),
            "first 5 splits": round(float(np.mean([row[name] for row in rows[:5]])), 3),
            "all 20 splits": round(float(np.mean([row[name] for row in rows])), 3),
            "least": min(row[name] for row in rows),
        }
        for name in rows[0]
    }
    print(json.dumps(means, indent=1))
    old = json.loads(options.out.read_text()) if options.out.exists() else {}
    result = {
        **old,
        "command": "python benchmarks/photos_unknown.py DIR --preset PRESET",
        options.preset: means,
        f"splits of {options.preset}": splits,
        "environment": environment(),
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
