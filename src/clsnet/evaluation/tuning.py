"""Choose a method's options on training data alone."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from clsnet.data import Task
from clsnet.evaluation.metrics import average_accuracy
from clsnet.evaluation.protocol import evaluate
from clsnet.methods import Method

HELD_OUT = 0.2


def hold_out(task: Task, seed: int) -> Task:
    """Return a task whose test part is a fifth of its training samples, taken class by class."""
    random = np.random.RandomState(seed)
    test = np.zeros(len(task.y_train), dtype=bool)
    for label in task.classes:
        rows = np.flatnonzero(task.y_train == label)
        test[random.permutation(rows)[: round(HELD_OUT * len(rows))]] = True
    return replace(
        task,
        X_train=task.X_train[~test],
        y_train=task.y_train[~test],
        X_test=task.X_train[test],
        y_test=task.y_train[test],
    )


def tune(
    method: Method,
    tasks: Sequence[Task],
    seed: int,
    preset: str | None = None,
    given: Mapping[str, Any] = MappingProxyType({}),
    progress: Callable[[dict[str, Any], float], None] = lambda options, accuracy: None,
) -> dict[str, Any]:
    """Return the options of the method's grid with the best accuracy on held-out training data.

    Options that are `given` stay as they are.
    """
    grid = {name: values for name, values in method.grid.items() if name not in given}
    parts = [hold_out(task, seed) for task in tasks]
    best: tuple[float, dict[str, Any]] = (-1.0, {})
    for values in itertools.product(*grid.values()):
        options = dict(zip(grid, values, strict=True))
        build = functools.partial(method.build, seed, preset, **given, **options)
        outcome = evaluate(build, parts, with_independent=False)
        accuracy = average_accuracy(outcome.R)
        progress(options, accuracy)
        best = max(best, (accuracy, options), key=lambda pair: pair[0])
    return best[1]
