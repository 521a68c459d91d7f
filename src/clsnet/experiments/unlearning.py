"""Exact against graceful forgetting: what each leaves behind, by a membership test."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clsnet.data import Task, TaskSequence
from clsnet.estimator import CLSNet
from clsnet.experiments.answer import OTHER, OURS, Answer, Cell, Check, Row, Table
from clsnet.experiments.found import Found
from clsnet.experiments.needs import Measurement, Needs
from clsnet.experiments.registry import Experiment
from clsnet.experiments.released import place
from clsnet.storage.schema import listed, mapped, number, record

MEMBERS = 100  # of each class; as many others are held out
REPEATS, FEW = 10, 3
FORGOTTEN = 1  # the second task: no extractor is fitted to it
KEPT = "full curvature, not forgotten"
EXACT = "full curvature, forgotten exactly"
GRACEFUL = "full curvature, forgotten gracefully"
PAPER_KEPT = "paper's rule, not forgotten"
FADED = "paper's rule, short-term memory"
REMOVED = "paper's rule, forgotten gracefully at the end"
SHARES = listed(number(0, 1), 1000, least=1)
ACCEPTED = mapped(record({"auc": SHARES, "differing": SHARES, "accuracy": SHARES}), most=10)


def needs(quick: bool) -> Needs:
    """Return the test."""
    return Needs(measurements=[_membership(quick)])


def answer(found: Found) -> Answer:
    """Compare what kinds of forgetting leave behind."""
    values = found.values(_membership(found.quick))
    if values is None:
        return Answer([], f"Nothing was measured on {place(found.quick)}.")
    rows = [
        Row(name, [_cell(one[key]) for key in COLUMNS], OURS if name == EXACT else OTHER)
        for name, one in values.items()
    ]
    caption = f"{place(found.quick)}: the second task forgotten, and what can be told afterwards"
    auc = {name: one["auc"] for name, one in values.items()}
    differing = {name: float(np.mean(one["differing"])) for name, one in values.items()}
    low, high = _interval(auc[EXACT])
    checks = [
        Check(
            "With the full curvature and without forgetting, the test tells members from others "
            f"(AUC {np.mean(auc[KEPT]):.3f}).",
            _interval(auc[KEPT])[0] > 0.5,
        ),
        Check(
            f"After exact forgetting it is a coin toss ({np.mean(auc[EXACT]):.3f}, 95 % interval "
            f"{low:.3f} to {high:.3f}), and {differing[EXACT]:.1%} of answers differ from those of "
            "a model that never saw the task.",
            low <= 0.5 <= high and differing[EXACT] == 0,
        ),
        Check(
            f"Graceful forgetting of the same model leaves an AUC of {np.mean(auc[GRACEFUL]):.3f} "
            f"and {differing[GRACEFUL]:.1%} differing answers.",
            _interval(auc[GRACEFUL])[0] > 0.5 and differing[GRACEFUL] > 0,
        ),
        Check(
            f"With the paper's rule, {differing[REMOVED]:.1%} of answers differ if the task is "
            f"removed at the end, and {differing[FADED]:.1%} if it fades early.",
            differing[REMOVED] > 0,
        ),
    ]
    return Answer(checks, WHY, [Table(caption, HEADS, rows, rows_are="Model")])


COLUMNS = ("auc", "differing", "accuracy")
HEADS = ("membership test (AUC)", "answers unlike a model that never saw it", "accuracy")
WHY = (
    f"A membership inference test gets the model and samples of the forgotten classes: {MEMBERS} "
    "of each class that were learned, and as many that were not. A learned sample had the target 0 "
    "for every remaining class, so its scores for them are smaller; the test ranks samples by the "
    "sum of their squares (before forgetting, by the distance to all targets). If a model does not "
    "depend on the forgotten samples, members and others are interchangeable, and the expected AUC "
    "is exactly 0.5. The full curvature can keep a sum for each task, and exact forgetting removes "
    "that sum. Graceful forgetting removes classes from the answers, but the task still influences "
    "the weights. The paper's rule retains too little of single samples for this test to find "
    "them, even before forgetting; its answers still reveal that there was such a task."
)


def membership(sequence: TaskSequence, repeats: int = REPEATS) -> dict[str, Any]:
    """Return, for each kind of forgetting and each draw of samples, what the test finds.

    Parameters
    ----------
    sequence
        Whose training samples are divided into members and others.
    repeats
        Draws of members, each with another order of classes.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for repeat in range(repeats):
        tasks = sequence.tasks(sequence.order(0, repeat))
        random = np.random.RandomState(repeat)
        halves = [_halves(task, random) for task in tasks]
        members, others = [mine for mine, _ in halves], halves[FORGOTTEN][1]
        remaining = [task for t, task in enumerate(tasks) if t != FORGOTTEN]
        X = np.concatenate([task.X_test for task in remaining])
        y = np.concatenate([task.y_test for task in remaining])
        for name, (model, unseen) in _models(members, repeat).items():
            mine, theirs = _answers(model, X, y), _answers(unseen, X, y)
            own = found.setdefault(name, {column: [] for column in COLUMNS})
            own["auc"].append(_auc(model, members[FORGOTTEN], others))
            own["differing"].append(float(np.mean(mine != theirs)))
            own["accuracy"].append(float(np.mean(mine == y)))
    return found


def _models(members: Sequence[Task], seed: int) -> dict[str, tuple[CLSNet, CLSNet]]:
    """Return models after each kind of forgetting, each with its like that never saw the task."""

    def learned(make: Callable[..., CLSNet], tasks: Sequence[Task], **options: Any) -> CLSNet:
        model = make(random_state=seed, **options)
        for task in tasks:
            model.partial_fit(task.X_train, task.y_train)
        return model

    rest = [task for t, task in enumerate(members) if t != FORGOTTEN]
    full = {"preset": "fast", "retain": "tasks"}
    kept, unseen = (learned(CLSNet, tasks, **full) for tasks in (members, rest))
    paper, paper_unseen = (learned(CLSNet.demo, tasks) for tasks in (members, rest))
    total = learned(CLSNet, members, preset="fast")
    return {
        KEPT: (kept, unseen),
        EXACT: (copy.deepcopy(kept).forget(task=FORGOTTEN), unseen),
        GRACEFUL: (total.forget(task=FORGOTTEN, exact=False), unseen),
        PAPER_KEPT: (paper, paper_unseen),
        FADED: (learned(CLSNet.demo, members, short_term=(FORGOTTEN,)), paper_unseen),
        REMOVED: (copy.deepcopy(paper).forget(task=FORGOTTEN, exact=False), paper_unseen),
    }


def _halves(task: Task, random: np.random.RandomState) -> tuple[Task, Task]:
    """Return members and others: samples of each class, drawn at random."""
    mine, others = [], []
    for label in task.classes:
        rows = random.permutation(np.flatnonzero(task.y_train == label))
        size = min(MEMBERS, len(rows) // 2)
        mine.append(rows[:size])
        others.append(rows[size : 2 * size])
    return _part(task, mine), _part(task, others)


def _part(task: Task, rows: Sequence[np.ndarray]) -> Task:
    chosen = np.sort(np.concatenate(rows))
    return replace(task, X_train=task.X_train[chosen], y_train=task.y_train[chosen])


def _auc(model: CLSNet, members: Task, others: Task) -> float:
    """Return how often a member has a smaller residual than a sample that was not learned."""
    mine, theirs = (_residuals(model, task) for task in (members, others))
    equal = np.mean(mine[:, None] == theirs)
    return float(np.mean(mine[:, None] < theirs) + equal / 2)


def _residuals(model: CLSNet, task: Task) -> np.ndarray:
    """Return the squared distance of scores to their targets, over classes the model knows."""
    targets = np.asarray(model.classes_) == task.y_train[:, None]
    return np.asarray(((model.decision_function(task.X_train) - targets) ** 2).sum(axis=1))


def _answers(model: CLSNet, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return answers among the classes that remain, which are those of y."""
    classes = np.asarray(model.classes_)
    stay = np.isin(classes, y)
    return np.asarray(classes[stay][model.decision_function(X)[:, stay].argmax(axis=1)])


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """Return a 95 % interval of the mean."""
    from scipy.special import stdtrit

    n, mean = len(values), float(np.mean(values))
    margin = float(stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / n**0.5) if n > 1 else 1.0
    return mean - margin, mean + margin


def _cell(values: Sequence[float]) -> Cell:
    return Cell(float(np.mean(values)), float(np.std(values)), digits=3)


def _membership(quick: bool) -> Measurement:
    repeats = FEW if quick else REPEATS
    return Measurement(
        "membership", place(quick), lambda sequence: membership(sequence, repeats), ACCEPTED
    )


EXPERIMENT = Experiment(
    number=12,
    name="unlearning",
    module=__name__,
    title="Exact against graceful forgetting",
    place="ours",
    claim="Graceful forgetting frees capacity but removes nothing. Exact forgetting, which "
    "the full curvature allows, leaves nothing that a membership test could find.",
)
