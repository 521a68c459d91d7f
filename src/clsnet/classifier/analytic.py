"""Subnetwork II: declarative parameters of each task, consolidated in closed form."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from clsnet.arrays.devices import Array, Device, library, namespace
from clsnet.arrays.linalg import contiguous
from clsnet.classifier.calibration import Calibration
from clsnet.classifier.class_weights import ClassWeight
from clsnet.classifier.consolidation import (
    calibrated,
    equations_of,
    solve_columns,
    solve_objective,
)
from clsnet.classifier.curvatures import FewSamples, FullTrace, Trace
from clsnet.classifier.curvatures.base import union
from clsnet.classifier.curvatures.total import total
from clsnet.classifier.forgetting.exactness import is_exact, only_in, why_not_exact
from clsnet.classifier.learned_task import LearnedTask
from clsnet.classifier.remembering import Batches, compressed, remembered
from clsnet.classifier.ridge.factor import Factor
from clsnet.classifier.ridge.rule import Solution
from clsnet.classifier.rule import TOTAL, Rule
from clsnet.classifier.summed_task import SummedTask
from clsnet.classifier.summing import all_reduced, summed, summed_task
from clsnet.classifier.sums import Batch, Label, RunningSums
from clsnet.classifier.trace_weights import class_sizes, n_learned, task_weight, trace_weights
from clsnet.errors import ClsnetError

NO_SUMS = "what this model keeps are the sums of no data: its file is damaged; use a good copy."
NOT_FINITE = "the scores are not finite: samples are too large, or the model's file is damaged."
PREDICTS_ONLY = (
    "this model holds weights for predicting, and no sums: it can neither learn nor forget; use "
    "the model that it was saved from."
)


@dataclass(frozen=True)
class AnalyticClassifier:
    """Closed-form classifier over representations A; every change returns a new one.

    The objective, of which `rule.terms` selects, is::

        1/2 |A_T Omega - Y_T|^2
        + 1/2 sum_t gamma_t (Omega - Omega_t)' H_t (Omega - Omega_t)
        + 1/2 |Omega - Omega_{1:T-1}|^2

    Attributes
    ----------
    labels
        Classes, in the order of the columns of `omega`.
    omega
        The consolidated solution Omega_{1:T}, float64.
    traces
        What is kept of old data: one trace in all, one per task number, or one per class.
    tasks
        Every task ever learned; a forgotten one has no classes left.
    calibration
        How scores become probabilities; it follows from the sums.
    stale
        Whether tasks were observed that `omega` and `calibration` do not know of yet.
    factor
        A factorisation of the sums, if one is at hand; neither saved nor copied.
    intercept
        The number of a constant column of A. All others are then standardised when weights are
        solved for, by means and variances that follow from the sums, and it is not penalised.
        None: columns are taken as they are.
    inputs
        Which of the first columns each of the next ones, random nodes, sees, if there are any.
    solution
        How `omega` was found, if it was just now; not saved.
    predicts_only
        Whether there are weights, in single precision, and nothing to go on learning from.

    Examples
    --------
    >>> blank = AnalyticClassifier(Rule(ridge=1e-9), dimension=2, device="cpu")
    >>> taught = blank.learn(lambda: [(np.eye(2), np.array(["cat", "dog"]))])
    >>> taught.scores(np.array([[1.0, 0.0]])).round(3)
    array([[1., 0.]])
    """

    rule: Rule
    dimension: int
    device: Device
    labels: list[Label] = field(default_factory=list)
    omega: Array = field(default_factory=lambda: np.zeros((0, 0)))
    traces: dict[Label, Trace] = field(default_factory=dict)
    tasks: list[LearnedTask] = field(default_factory=list)
    calibration: Calibration = field(default_factory=Calibration)
    stale: bool = False
    factor: Factor | None = field(default=None, repr=False, compare=False)
    intercept: int | None = None
    inputs: Array | None = field(default=None, repr=False, compare=False)
    solution: Solution | None = field(default=None, repr=False, compare=False)
    predicts_only: bool = False

    def __post_init__(self) -> None:
        if self.intercept is not None and (self.rule.curvature != "full" or 3 in self.rule.terms):
            raise ClsnetError(
                'columns are standardised from sums, which needs curvature="full" and terms '
                'without 3; choose them, or backbone="identity".'
            )

    def scores(self, A: Array) -> Array:
        """Return ``A Omega_{1:T}``, one column per class, in the precision of the weights."""
        xp = namespace(A)
        found = xp.astype(A, self.omega.dtype, copy=False) @ self.omega
        if not bool(xp.all(xp.isfinite(found))):
            raise ClsnetError(NOT_FINITE)
        return found

    def learn(self, batches: Batches) -> AnalyticClassifier:
        """Learn one task. `batches` is called once per pass over it; the paper's rule makes two."""
        return self.observe(batches).consolidated()

    def observe(self, batches: Batches) -> AnalyticClassifier:
        """Take in one task. Where only sums are kept of it, the weights can wait."""
        parts = all_reduced(self._summed(batches()), self.no_sums())
        return self.with_sums(summed_task(parts), batches)

    def summarise(self, batches: Iterable[Batch]) -> SummedTask:
        """Return the sums of what this process is given, of which nothing is learned yet."""
        return summed_task(self._summed(batches))

    def with_sums(self, summed: SummedTask, batches: Batches | None = None) -> AnalyticClassifier:
        """Take in the sums of one task.

        Parameters
        ----------
        summed
            Its sums, which may be used up.
        batches
            Starts another pass over the task, which the diagonal curvature needs.
        """
        self.refuse_to_learn()
        task, full = summed.task, summed.traces
        if self.rule.curvature == "diagonal":
            self._refuse_known(task)
        old = self._without(tasks=self.rule.forgotten(len(self.tasks) + 1))
        labels = union(old.labels, task.classes)
        tasks = [*old.tasks, task]
        if self.rule.plain:
            factor = old._extended(list(full.values()))
            traces = remembered(old.traces, full, self.rule, len(old.tasks))
            return replace(
                old, labels=labels, traces=traces, tasks=tasks, stale=True, factor=factor
            )
        current = functools.reduce(lambda a, b: a.merge(b), full.values())
        omega, calibration = old._consolidate(current, labels, len(tasks))
        kept: Mapping[Label, Trace] = full
        if self.rule.curvature != "full":
            kept = {TOTAL: compressed(current, self.rule, batches)}
        traces = remembered(old.traces, kept, self.rule, len(old.tasks))
        return replace(
            old, labels=labels, omega=omega, calibration=calibration, traces=traces, tasks=tasks
        )

    def for_predicting(self) -> AnalyticClassifier:
        """Return the weights alone, in single precision: all that predicting needs."""
        omega = self.consolidated().omega
        xp = namespace(omega)
        weights = xp.astype(omega, xp.float32)
        if not bool(xp.all(xp.isfinite(weights))):
            raise ClsnetError("these weights are too large for single precision.")
        return replace(
            self.consolidated(), omega=weights, traces={}, factor=None, predicts_only=True
        )

    def refuse_to_learn(self) -> None:
        """Raise an error if there is nothing to go on learning from."""
        if self.predicts_only:
            raise ClsnetError(PREDICTS_ONLY)

    def consolidated(self) -> AnalyticClassifier:
        """Return the classifier with weights for everything observed."""
        if not self.stale:
            return self
        if not self.traces:
            xp = library(self.device)
            none = xp.zeros((self.dimension, 0), dtype=xp.float64, device=self.device)
            return replace(self, omega=none, calibration=Calibration(), stale=False, solution=None)
        traces = {key: t for key, t in self.traces.items() if isinstance(t, FullTrace)}
        weights = trace_weights(self.rule, traces, self.tasks)
        seen = total(list(traces.values()), list(weights.values()))
        sizes = class_sizes(self.rule, self.labels, self.tasks, weights)
        equations = equations_of(seen, self.labels, sizes)
        as_kept = self.rule.retain == TOTAL and seen is traces.get(TOTAL) and self.intercept is None
        kept = self.factor if as_kept else None
        with _refusing_sums_of_no_data():
            found = solve_columns(equations, self.rule.ridge, self.intercept, kept, self.inputs)
        return replace(
            self,
            # In the layout in which it is saved: another one would round otherwise.
            omega=contiguous(found.omega),
            calibration=calibrated(found, sizes, seen.n_samples),
            stale=False,
            factor=found.factor if as_kept else None,
            solution=Solution(found.ridge, found.df),
        )

    def weighing(self, class_weight: ClassWeight) -> AnalyticClassifier:
        """Return the classifier with other weights of classes, if it keeps sums of each class."""
        if self.rule.retain != "classes" or class_weight == self.rule.class_weight:
            return self
        rule = replace(self.rule, class_weight=class_weight)
        return replace(self, rule=rule, stale=bool(self.labels))

    def forget(
        self, tasks: Collection[int], classes: Collection[Label], exact: bool
    ) -> AnalyticClassifier:
        """Forget tasks or classes: exactly, as if never seen, or (``exact=False``) gracefully."""
        self.refuse_to_learn()
        if not is_exact(self.rule, self.tasks, tasks, classes):
            if exact:
                raise ClsnetError(why_not_exact(self.rule, tasks))
            return self.consolidated()._without(tasks, classes)
        left = self._without(tasks, classes)
        if self.rule.plain or not left.traces:
            return replace(left, stale=True).consolidated()
        *old, newest = left.traces
        before = replace(left, traces={key: left.traces[key] for key in old})
        current, n_tasks = left.traces[newest], n_learned(left.traces)
        assert isinstance(current, FullTrace)
        omega, calibration = before._consolidate(current, left.labels, n_tasks)
        return replace(left, omega=omega, calibration=calibration)

    def no_sums(self) -> RunningSums:
        """Return the sums of nothing; variances would not survive products of single precision."""
        precision = self.rule.precision if self.intercept is None else "float64"
        return RunningSums(self.dimension, self.device, precision)

    # ------------------------------------------------------------------- private

    def _summed(self, batches: Iterable[Batch]) -> dict[Label, RunningSums]:
        """Return the sums of what this process is given, as they are kept."""
        return summed(batches, self.rule.retain == "classes", self.no_sums)

    def _consolidate(
        self, current: FullTrace, labels: list[Label], n_tasks: int
    ) -> tuple[Array, Calibration]:
        """Solve the objective for the current task and all that is kept of old ones."""
        terms, traces = self.rule.terms, self.traces.items()
        old = [(t, task_weight(self.rule, key, n_tasks)) for key, t in traces] if 2 in terms else []
        previous = self.omega if 3 in terms and self.labels else None
        with _refusing_sums_of_no_data():
            return solve_objective(
                *(current, old, previous, labels, self.rule.ridge), self.intercept, self.inputs
            )

    def _extended(self, task: list[FullTrace]) -> Factor | None:
        """Return the kept factor with a further task, if that is cheaper than a new one."""
        if self.factor is None or not isinstance(task[0], FewSamples):
            return None
        return self.factor.extended(task[0].rows)

    def _refuse_known(self, task: LearnedTask) -> None:
        known = [label for label in task.classes if label in self.labels]
        if known:
            raise ClsnetError(
                f"class {known[0]!r} was learned before, and the diagonal curvature (the paper's "
                'rule) cannot learn more of an old class; use curvature="full".'
            )

    def _without(
        self, tasks: Collection[int] = (), classes: Collection[Label] = ()
    ) -> AnalyticClassifier:
        """Drop traces and columns, and leave the other columns as they are."""
        gone = {*classes, *only_in(tasks, self.tasks)}
        if not gone and not tasks:
            return self
        stay = [i for i, label in enumerate(self.labels) if label not in gone]
        left = [
            LearnedTask({}) if t in tasks else task.without(gone)
            for t, task in enumerate(self.tasks)
        ]
        empty: Collection[Label] = ()
        if self.rule.retain == "classes":
            empty = gone
        elif self.rule.retain == "tasks":
            empty = [t for t, task in enumerate(left) if not task.counts]
        return replace(
            self,
            labels=[self.labels[i] for i in stay],
            omega=self.omega if self.stale else self.omega[:, stay],
            traces={k: trace.without(gone) for k, trace in self.traces.items() if k not in empty},
            tasks=left,
            factor=None,
        )


@contextlib.contextmanager
def _refusing_sums_of_no_data() -> Iterator[None]:
    """Say that what is kept are the sums of no data, where these cannot be solved."""
    try:
        yield
    except (ArithmeticError, LookupError, StopIteration, ValueError) as error:
        if isinstance(error, ClsnetError):
            raise
        raise ClsnetError(NO_SUMS) from None
