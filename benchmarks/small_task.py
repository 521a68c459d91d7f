"""A task of 100 samples in a large model, over a fresh solution of the same sums."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from clsnet.classifier.analytic import TOTAL, AnalyticClassifier, Rule, Task
from clsnet.classifier.curvatures.full import FullTrace
from clsnet.classifier.ridge.factor import Factor
from clsnet.classifier.sums import Statistics
from timing import DEVICE, GPU, alternating, features, ratio

SIZE, SAMPLES, BEFORE = 10_000, 100, 51_200
HIDDEN, NOISE, ROWS = 1_000, 0.3, 5_120


def mixed() -> torch.Tensor:
    return torch.randn(HIDDEN, SIZE, generator=torch.Generator().manual_seed(2)).to(DEVICE) / 30


def model() -> AnalyticClassifier:
    """Return a model of 51,200 samples: 1,000 features mixed to 10,000, and white noise on each.

    Its Gram matrix is that of the hidden features, mixed, plus what the noise adds on average.
    """
    seen = Statistics(HIDDEN, DEVICE)
    for seed in range(BEFORE // ROWS):
        seen.add(*features(ROWS, HIDDEN, seed=seed))
    mixing, labels = mixed().double(), list(range(10))
    gram = mixing.T @ (seen.gram @ mixing)
    gram.diagonal().add_(BEFORE * NOISE**2)
    trace = FullTrace(labels, gram, mixing.T @ seen.cross(labels), BEFORE)
    blank = AnalyticClassifier(Rule(), SIZE, DEVICE, labels=labels, stale=True)
    return replace(blank, traces={TOTAL: trace}, tasks=[Task(seen.counts)]).consolidated()


def task() -> tuple[torch.Tensor, np.ndarray]:
    hidden, y = features(SAMPLES, HIDDEN, seed=BEFORE)
    return hidden @ mixed() + NOISE * torch.randn(SAMPLES, SIZE).to(DEVICE), y


def run() -> dict[str, Any]:
    before = model()
    A, y = task()
    observed = before.observe(lambda: [(A, y)])
    total = observed.traces[TOTAL]
    # Sums of a fresh solution are there, as they would be after a large task.
    dense = FullTrace(total.labels, total.gram, total.cross, total.n_samples)

    learned: dict[str, AnalyticClassifier] = {}

    def updated() -> None:
        learned["update"] = before.learn(lambda: [(A, y)])

    def fresh() -> None:
        learned["fresh"] = replace(observed, factor=None, traces={TOTAL: dense}).consolidated()

    def factorised() -> torch.Tensor:
        return Factor.of(total.gram, before.factor.ridge).solve(total.cross)

    times = alternating(
        {"update": updated, "fresh": fresh, "factorise": factorised}, rounds=2, warm=GPU
    )
    one, two = learned["update"].omega, learned["fresh"].omega
    difference = float((one - two).norm() / two.norm())
    found = {
        "small_task_over_fresh_solve": ratio(times["update"], times["fresh"]),
        "small_task_over_one_factorisation": ratio(times["update"], times["factorise"]),
        "small_task_difference": difference,
    }
    print(f"a task of {SAMPLES} samples, D = {SIZE}: {found}")
    return found


def plot(found: dict[str, Any], draw: Any) -> None:
    update = found["small_task_over_fresh_solve"]
    draw.bars(
        "small_task",
        f"A task of {SAMPLES} samples, D = {SIZE}: time over that of a fresh solution",
        {
            "update, ridge chosen": update,
            "one factorisation": update / found["small_task_over_one_factorisation"],
            "fresh, ridge chosen": 1.0,
        },
        reference=0.5,
    )


if __name__ == "__main__":
    run()
