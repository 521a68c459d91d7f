"""Choosing a method's options on training data of all tasks."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from clsnet.data import Task
from clsnet.evaluation.metrics import average_accuracy
from clsnet.evaluation.protocol import evaluate
from clsnet.methods import Method

HELD_OUT = 0.2
WIDENINGS = 8
LONGEST_STEP = 10.0


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


@dataclass(frozen=True)
class Tuned:
    """The chosen options, the number of combinations tried, and options still on an edge."""

    options: dict[str, Any]
    n_tried: int
    on_edge: list[str]


def tune(
    method: Method,
    tasks: Sequence[Task],
    seed: int,
    preset: str | None = None,
    given: Mapping[str, Any] = MappingProxyType({}),
    progress: Callable[[dict[str, Any], float], None] = lambda options, accuracy: None,
) -> Tuned:
    """Choose the options of the method's grid with the best accuracy on held-out training data.

    This reads training data of all tasks before the first one is learned, which an incremental
    learner could not do. Every combination is tried. While the best value of an option is the
    smallest or the largest one tried, its grid grows by one step on that side, up to eight times,
    so the choice does not depend on where a grid ends. Only grids of positive fractions grow: a
    word has no next value, and a larger integer, such as a number of nodes, costs more. An integer
    on an edge is reported.

    Parameters
    ----------
    method, tasks, seed, preset
        The method, and the tasks to tune it on.
    given
        Options that are fixed.
    progress
        Called with each combination and its accuracy.
    """
    grid = {name: values for name, values in method.grid.items() if name not in given}
    if not grid:
        return Tuned({}, 0, [])
    parts = [hold_out(task, seed) for task in tasks]
    tried: list[tuple[float, tuple[Any, ...]]] = []

    def accuracy(options: dict[str, Any]) -> float:
        build = functools.partial(method.build, seed, preset, **given, **options)
        return average_accuracy(evaluate(build, parts, with_independent=False).R)

    for widening in range(WIDENINGS + 1):
        known = [values for _, values in tried]
        for values in itertools.product(*grid.values()):
            if values in known:
                continue
            options = dict(zip(grid, values, strict=True))
            try:
                found = accuracy(options)
            except (ValueError, ArithmeticError, RuntimeError):
                if not widening:
                    raise
                found = -1.0  # the method cannot do with a value beyond its own grid
            tried.append((found, values))
            progress(options, found)
        # Of equals, the one that leaves the fewest grids to grow.
        _, best = max(tried, key=lambda pair: (pair[0], -len(_to_grow(grid, pair[1]))))
        edges = _to_grow(grid, best)
        if not edges or widening == WIDENINGS:
            break
        grid = {name: _wider(grid[name], edges.get(name)) for name in grid}
    return Tuned(dict(zip(grid, best, strict=True)), len(tried), list(_on_edge(grid, best)))


def _to_grow(grid: Mapping[str, Sequence[Any]], values: Sequence[Any]) -> dict[str, Any]:
    """Return those values on an edge whose grid can grow."""
    return {name: v for name, v in _on_edge(grid, values).items() if can_grow(grid[name])}


def _on_edge(grid: Mapping[str, Sequence[Any]], values: Sequence[Any]) -> dict[str, Any]:
    """Return those numbers that are the least or the greatest of a grid; zero is least of all.

    Examples
    --------
    >>> grid = {"rate": [0.1, 1.0], "epochs": [5, 10, 20], "margin": [0.0, 0.5], "kind": ["a", "b"]}
    >>> _on_edge(grid, (1.0, 10, 0.0, "a"))
    {'rate': 1.0}
    """
    return {
        name: value
        for (name, tried), value in zip(grid.items(), values, strict=True)
        if len(tried) > 1
        and all(isinstance(v, int | float) and not isinstance(v, bool) for v in tried)
        and value != 0
        and value in (min(tried), max(tried))
    }


def can_grow(values: Sequence[Any]) -> bool:
    """Whether a grid is of positive fractions, and grows where the best lies on an edge."""
    return len(values) > 1 and all(isinstance(v, float) and v > 0 for v in values)


def _wider(values: Sequence[Any], edge: float | None) -> list[Any]:
    """Return a grid with one more value beyond an edge, if that is given.

    Examples
    --------
    >>> _wider([0.5, 1.0, 2.0], 2.0), _wider([0.5, 1.0, 2.0], 0.5), _wider([0.5, 1.0, 2.0], None)
    ([0.5, 1.0, 2.0, 4.0], [0.25, 0.5, 1.0, 2.0], [0.5, 1.0, 2.0])
    """
    values = list(values)
    if edge is None:
        return values
    values.sort()
    if edge == values[0]:
        return [edge / min(values[1] / edge, LONGEST_STEP), *values]
    return [*values, edge * min(edge / values[-2], LONGEST_STEP)]
