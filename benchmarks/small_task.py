"""A task of 100 samples in a large model, over a fresh solution of the same sums."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from clsnet.arrays.devices import Array, to_device
from clsnet.arrays.linalg import diagonal, double
from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.curvatures import FullTrace
from clsnet.classifier.learned_task import LearnedTask
from clsnet.classifier.ridge.factor import Factor
from clsnet.classifier.rule import TOTAL, Rule
from clsnet.classifier.sums import RunningSums
from timing import DEVICE, GPU, alternating, features, ratio, relative_difference

SIZE, SAMPLES, BEFORE = 10_000, 100, 51_200
HIDDEN, NOISE, ROWS = 1_000, 0.3, 5_120


def mixed() -> Array:
    drawn = np.random.default_rng(2).standard_normal((HIDDEN, SIZE), dtype=np.float32)
    return to_device(drawn, DEVICE) / 30


def model() -> AnalyticClassifier:
    """Return a model of 51,200 samples: 1,000 features mixed to 10,000, and white noise on each.

    Its Gram matrix is that of the hidden features, mixed, plus what the noise adds on average.
    """
    seen = RunningSums(HIDDEN, DEVICE)
    for seed in range(BEFORE // ROWS):
        seen.add(*features(ROWS, HIDDEN, seed=seed))
    mixing, labels = double(mixed()), list(range(10))
    gram = mixing.T @ (seen.gram @ mixing)
    own = diagonal(gram)
    own += BEFORE * NOISE**2
    trace = FullTrace(labels, gram, mixing.T @ seen.cross(labels), BEFORE)
    blank = AnalyticClassifier(Rule(), SIZE, DEVICE, labels=labels, stale=True)
    return replace(blank, traces={TOTAL: trace}, tasks=[LearnedTask(seen.counts)]).consolidated()


def task() -> tuple[Array, np.ndarray]:
    hidden, y = features(SAMPLES, HIDDEN, seed=BEFORE)
    noise = np.random.default_rng(3).standard_normal((SAMPLES, SIZE), dtype=np.float32)
    return hidden @ mixed() + NOISE * to_device(noise, DEVICE), y


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

    def factorised() -> Array:
        return Factor.of(total.gram, before.factor.ridge).solve(total.cross)

    times = alternating(
        {"update": updated, "fresh": fresh, "factorise": factorised}, rounds=2, warm=GPU
    )
    difference = relative_difference(learned["update"].omega, learned["fresh"].omega)
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
