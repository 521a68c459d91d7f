"""Vectors: accuracy and log loss on held-out folds of tabular data sets, beside other classifiers.

    python benchmarks/tabular.py [--mlbench DIR] [--out results/bench/tabular.json]

Four sets come with scikit-learn. Seven are those of R's package mlbench that have numbers as
columns and fewer than 10,000 rows: `--mlbench` is the folder of its .rda files (Debian's package
r-cran-mlbench has it as /usr/lib/R/site-library/mlbench/data), and the Python package rdata reads
them. All columns that are numbers are used as they are. Five folds, shuffled once, stratified.
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clsnet import CLSNet
from clsnet.evaluation.store import environment

FOLDS, SEED = 5, 0
BUNDLED: dict[str, Callable[..., Any]] = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
MLBENCH = {
    "Glass": "Type",
    "Ionosphere": "Class",
    "PimaIndiansDiabetes": "diabetes",
    "Satellite": "classes",
    "Sonar": "Class",
    "Vehicle": "Class",
    "Vowel": "Class",
}
"""Names of the column that is to be predicted."""
FITTED, PEER = "CLSNet, fitted to data", "LogisticRegression"
"""The first is the default of version 0.1, whose first task is all data here."""
METHODS: dict[str, Callable[[], Any]] = {
    "CLSNet": CLSNet,
    FITTED: lambda: CLSNet(backbone="identity", connection="A", ridge="gcv"),
    PEER: lambda: scaled(LogisticRegression(max_iter=5000)),
    "RidgeClassifier": lambda: scaled(RidgeClassifier()),
    "RandomForestClassifier": lambda: RandomForestClassifier(random_state=SEED),
}
Table = tuple[np.ndarray, np.ndarray]


def scaled(classifier: Any) -> Any:
    return make_pipeline(StandardScaler(), classifier)


def tables(mlbench: Path | None) -> Iterator[tuple[str, Table]]:
    for name, load in BUNDLED.items():
        yield name, load(return_X_y=True)
    if mlbench is None:
        print(f"left out without --mlbench: {', '.join(MLBENCH)}")
        return
    import rdata

    for name, target in MLBENCH.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of types that it does not know
            frame = rdata.read_rda(mlbench / f"{name}.rda")[name]
        columns = [numbers(frame[column]) for column in frame.columns if column != target]
        X = np.stack([column for column in columns if column is not None], axis=1)
        yield name, (X, frame[target].astype(str).to_numpy())


def numbers(column: Any) -> np.ndarray | None:
    try:
        return np.asarray(column.astype(float))
    except ValueError:
        return None


def measured(X: np.ndarray, y: np.ndarray) -> dict[str, tuple[float, float | None]]:
    """Return mean accuracy and log loss over folds by method; some have no probabilities."""
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(X, y))
    found: dict[str, tuple[float, float | None]] = {}
    for name, method in METHODS.items():
        accuracies, losses = [], []
        for learned, tested in folds:
            model = method().fit(X[learned], y[learned])
            accuracies.append(float(model.score(X[tested], y[tested])))
            if hasattr(model, "predict_proba"):
                chances = model.predict_proba(X[tested])
                losses.append(log_loss(y[tested], chances, labels=model.classes_))
        found[name] = float(np.mean(accuracies)), float(np.mean(losses)) if losses else None
    return found


def rounded(rows: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return a table to four digits, with a row of means."""
    means = {
        head: float(np.mean([row[head] for row in rows.values()]))
        for head in next(iter(rows.values()))
    }
    table = {**rows, "mean": means}
    return {name: {h: round(v, 4) for h, v in row.items()} for name, row in table.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mlbench", type=Path, help="folder of mlbench's .rda files")
    parser.add_argument("--out", type=Path, default=Path("results/bench/tabular.json"))
    arguments = parser.parse_args()
    accuracies: dict[str, dict[str, float]] = {}
    losses: dict[str, dict[str, float]] = {}
    for name, (X, y) in tables(arguments.mlbench):
        found = measured(X, y)
        size = f"{len(X)} x {X.shape[1]}, {len(np.unique(y))} classes"
        accuracies[f"{name} ({size})"] = {method: right for method, (right, _) in found.items()}
        losses[name] = {method: loss for method, (_, loss) in found.items() if loss is not None}
        print(name, accuracies[f"{name} ({size})"], losses[name])
    ratios = {name: row["CLSNet"] / row[PEER] for name, row in losses.items()}
    record = {
        "accuracy": rounded(accuracies),
        "log_loss": rounded(losses),
        "largest_log_loss_over_logistic_regression": round(max(ratios.values()), 4),
        "mean_log_loss_over_logistic_regression": round(
            statistics.geometric_mean(ratios.values()), 4
        ),
        "environment": environment(),
    }
    arguments.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
