"""Learn a sequence of tasks, one after the other, and test on all tasks so far.

A method gets the training data of the current task and nothing else. It predicts test samples
without knowing their task. A prediction has to be a function of one sample; the conformance tests
check that for every method.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clsnet.data import Task
from clsnet.evaluation.metrics import average_accuracy, backward_transfer, forward_transfer
from clsnet.evaluation.usage import peak_mb
from clsnet.extractor.extractor import Features
from clsnet.images import Samples
from clsnet.methods import ExtractorLearner, Learner, OrderFree

AGNOSTIC = "agnostic"
DEMO = "demo"
PROTOCOLS = {
    AGNOSTIC: "honest: one fixed function of one sample, no task identity",
    DEMO: "LEAKING: the authors' published evaluation refits the representation on each task's "
    "own test split, which tells the model the task",
}

TESTED = "tested"  # the stage at which a task's accuracy is known
Progress = Callable[[int, str, float | None], None]


@dataclass(frozen=True)
class Outcome:
    """The measurements of one run; row T of `R` holds the accuracy on tasks 1 to T.

    `seconds` holds the times of learning, in total and per task, and of predicting; `memory` the
    size of the model and the peak memory of the process for each task. `right` tells, for each
    task, which of its test samples were classified correctly after the last task; `order_free`
    whether the learner promises that this does not depend on the order of tasks.
    """

    R: list[list[float]]
    independent: list[float]
    seconds: dict[str, Any]
    memory: dict[str, Any]
    right: list[np.ndarray] = field(default_factory=list)
    order_free: bool = False

    def metrics(self) -> dict[str, float | None]:
        """Return Avg Acc, BWT and FWT."""
        return {
            "avg_acc": average_accuracy(self.R),
            "bwt": backward_transfer(self.R),
            "fwt": forward_transfer(self.R, self.independent) if self.independent else None,
        }


def _silent(task: int, stage: str, accuracy: float | None) -> None:
    pass


def evaluate(
    build: Callable[[], Learner],
    tasks: Sequence[Task],
    protocol: str = AGNOSTIC,
    progress: Progress = _silent,
    with_independent: bool = True,
) -> Outcome:
    """Run one method over one sequence.

    Parameters
    ----------
    build
        A function that returns a new learner.
    tasks
        The sequence, in order.
    protocol
        ``"agnostic"``, or ``"demo"`` for the authors' leaking evaluation.
    progress
        A function that is called with the task number, the stage and the accuracy so far.
    with_independent
        Whether to train the independent models that forward transfer needs.
    """
    run = _Demo(build()) if protocol == DEMO else _Agnostic(build())
    R: list[list[float]] = []
    independent: list[float] = []
    learn_seconds: list[float] = []
    predict_seconds = 0.0
    peaks: list[float] = []
    right: list[np.ndarray] = []
    accuracy: float | None = None
    for number, task in enumerate(tasks):
        progress(number, "learning", accuracy)
        clock = time.perf_counter()
        run.learn(task)
        learn_seconds.append(time.perf_counter() - clock)
        peaks.append(peak_mb())
        progress(number, "testing", accuracy)
        clock = time.perf_counter()
        right = [run.right(past) for past in tasks[: number + 1]]
        R.append([float(np.mean(part)) for part in right])
        predict_seconds += time.perf_counter() - clock
        accuracy = average_accuracy(R)
        progress(number, TESTED, accuracy)
        if with_independent:
            progress(number, "independent model", accuracy)
            # After the first task the learner itself has learned that task only.
            independent.append(run.independent(build, task) if number else R[0][0])
    memory = run.learner.memory()
    return Outcome(
        R,
        independent,
        {"learn": sum(learn_seconds), "predict": predict_seconds, "tasks": learn_seconds},
        {
            "model_mb": memory.model_mb,
            "exemplar_mb": memory.exemplar_mb,
            "peak_mb": peaks,
            "backbone_mb": memory.backbone_mb,
        },
        right,
        isinstance(run.learner, OrderFree) and run.learner.order_free,
    )


class _Agnostic:
    """The honest protocol; a fixed extractor computes the features of each test sample once."""

    def __init__(self, learner: Learner, features: Features | None = None) -> None:
        self.learner = learner
        self.features: Features = {} if features is None else features

    def learn(self, task: Task) -> None:
        self.learner.partial_fit(task.X_train, task.y_train)
        if isinstance(self.learner, ExtractorLearner):
            self.learner.consolidate()  # else the first prediction would take that time

    def right(self, task: Task) -> np.ndarray:
        """Return which test samples of a task are answered right."""
        with self._remembering():
            return np.asarray(self.learner.predict(task.X_test) == task.y_test)

    def _remembering(self) -> AbstractContextManager[None]:
        """Remember features of test samples, where the extractor is fixed."""
        if isinstance(self.learner, ExtractorLearner):
            return self.learner.extractor_.remembering(self.features)
        return nullcontext()

    def independent(self, build: Callable[[], Learner], task: Task) -> float:
        """Accuracy of a model that learned this task only, given the same fixed extractor."""
        if isinstance(self.learner, ExtractorLearner):
            return _alone(_Agnostic(self.learner.twin(), self.features), task)
        return _alone(_Agnostic(build()), task)


class _Demo(_Agnostic):
    """The leaking protocol: the representation is refitted to the samples of each task."""

    def learn(self, task: Task) -> None:
        if isinstance(self.learner, ExtractorLearner):
            self._refit(self.learner, task.X_train)
        super().learn(task)

    def right(self, task: Task) -> np.ndarray:
        learner = self.learner
        assert isinstance(learner, ExtractorLearner)  # `check_protocol` has made sure
        kept = learner.extractor_
        self._refit(learner, task.X_test)
        self.features = {}
        try:
            return super().right(task)
        finally:
            learner.extractor_ = kept

    def independent(self, build: Callable[[], Learner], task: Task) -> float:
        return _alone(_Demo(build()), task)

    def _refit(self, learner: ExtractorLearner, X: Samples) -> None:
        extractor = learner.extractor_
        learner.extractor_ = extractor.refitted(X, extractor.device)


def _alone(run: _Agnostic, task: Task) -> float:
    run.learn(task)
    return float(np.mean(run.right(task)))
