"""A small data set of vectors: `CLSNet().fit` over `RandomForestClassifier().fit`."""

from __future__ import annotations

from typing import Any

from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier

from clsnet import CLSNet
from timing import alternating, ratio

DATA = {"iris": load_iris, "wine": load_wine}
MOST = 1.0


def run() -> dict[str, Any]:
    found = {}
    for name, load in DATA.items():
        X, y = load(return_X_y=True)
        times = alternating(
            {
                "forest": lambda X=X, y=y: RandomForestClassifier().fit(X, y),
                "own": lambda X=X, y=y: CLSNet().fit(X, y),
            },
            rounds=9,
        )
        found[f"small_fit_over_forest_{name}"] = ratio(times["own"], times["forest"])
    print(f"small fits over RandomForestClassifier: {found}, at most {MOST}")
    return found


def plot(found: dict[str, Any], draw: Any) -> None:
    draw.bars(
        "small_fit",
        "Time of CLSNet().fit over that of RandomForestClassifier().fit",
        {name: found[f"small_fit_over_forest_{name}"] for name in DATA},
        limit=MOST,
    )


if __name__ == "__main__":
    run()
