"""Subnetwork II: declarative parameters of each task, consolidated in closed form."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from clsnet.arrays.devices import Array, Device, library, namespace, to_numpy
from clsnet.arrays.linalg import contiguous, diagonal, take
from clsnet.classifier.calibration import Calibration
from clsnet.classifier.class_weights import ClassWeight, class_weights
from clsnet.classifier.curvatures import (
    DiagonalTrace,
    FewSamples,
    FullTrace,
    LowRankTrace,
    Trace,
    trace_of,
)
from clsnet.classifier.curvatures.base import union
from clsnet.classifier.curvatures.pending_rows import PendingRows
from clsnet.classifier.curvatures.plasticity import plasticity
from clsnet.classifier.curvatures.total import few_together, total
from clsnet.classifier.curvatures.upper_triangle import UpperTriangle
from clsnet.classifier.forgetting.exactness import is_exact, only_in, why_not_exact
from clsnet.classifier.learned_task import LearnedTask
from clsnet.classifier.ridge.factor import Factor
from clsnet.classifier.ridge.normal_equations import NormalEquations, left_out_error
from clsnet.classifier.ridge.rule import Regression, Solution, regress
from clsnet.classifier.ridge.standardised import Standardised
from clsnet.classifier.rule import TOTAL, Rule
from clsnet.classifier.solvers import System
from clsnet.classifier.summed_task import SummedTask
from clsnet.classifier.sums import Batch, Label, RunningSums, all_reduced
from clsnet.errors import ClsnetError

Batches = Callable[[], Iterable[Batch]]
MERGED = 32  # few samples are factorised anew with every task up to this part of the dimension
NO_SUMS = "what this model keeps are the sums of no data: its file is damaged; use a good copy."
NOT_FINITE = "the scores are not finite: samples are too large, or the model's file is damaged."
NEEDS_SAMPLES = (
    'curvature="diagonal" reads the samples of a task twice, so it cannot learn from sums; use '
    'curvature="full".'
)
PREDICTS_ONLY = (
    "this model holds weights for predicting, and no sums: it can neither learn nor forget; use "
    "the model that it was saved from."
)
TOO_LARGE = "these samples hold values too large to be squared; scale them down."


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
        parts = all_reduced(self._summed(batches), self.no_sums())
        return self.with_sums(_summed_task(parts), batches)

    def summarise(self, batches: Iterable[Batch]) -> SummedTask:
        """Return the sums of what this process is given, of which nothing is learned yet."""
        return _summed_task(self._summed(lambda: batches))

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
            traces = old._remember(dict(full))
            return replace(
                old, labels=labels, traces=traces, tasks=tasks, stale=True, factor=factor
            )
        current = functools.reduce(lambda a, b: a.merge(b), full.values())
        omega, calibration = old._consolidate(current, labels, len(tasks))
        kept: dict[Label, Trace] = dict(full)
        if self.rule.curvature != "full":
            kept = {TOTAL: self._compress(current, batches)}
        traces = old._remember(kept)
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
        weights = self._weights(traces)
        seen = total(list(traces.values()), weights)
        cross = seen.columns(self.labels)
        n_samples, sizes = seen.n_samples, self._sizes(dict(zip(traces, weights, strict=True)))
        if isinstance(seen, PendingRows):
            equations = NormalEquations(seen.base, cross, n_samples, seen.rows, sizes)
        elif few := few_together([seen]):
            equations = NormalEquations(None, cross, n_samples, few[0].rows, sizes)
        else:
            equations = NormalEquations(seen.gram, cross, n_samples, counts=sizes)
        as_kept = self.rule.retain == TOTAL and weights == [1.0] and self.intercept is None
        found = self._regress(equations, self.factor if as_kept else None)
        return replace(
            self,
            # In the layout in which it is saved: another one would round otherwise.
            omega=contiguous(found.omega),
            calibration=_calibrated(found, sizes, n_samples),
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
        omega, calibration = before._consolidate(left.traces[newest], left.labels, left._n_tasks)
        return replace(left, omega=omega, calibration=calibration)

    # -------------------------------------------------------------- consolidation

    def _regress(self, equations: NormalEquations, kept: Factor | None = None) -> Regression:
        """Solve for the weights, of standardised columns if the rule says so."""
        try:
            if self.intercept is None:
                return regress(equations, self.rule.ridge, kept)
            scaled = Standardised.of(equations, self.intercept)
            return scaled.restored(regress(scaled.equations, self.rule.ridge))
        except (ArithmeticError, LookupError, StopIteration, ValueError) as error:
            if isinstance(error, ClsnetError):
                raise
            raise ClsnetError(NO_SUMS) from None

    @property
    def _n_tasks(self) -> int:
        """Tasks learned, up to the latest that is still kept."""
        return 1 + max((key for key in self.traces if isinstance(key, int)), default=0)

    def _weight(self, key: Label, n_tasks: int) -> float:
        """Return how much a trace counts; a total was weighted as it grew."""
        if self.rule.retain == "tasks" and isinstance(key, int):
            return self.rule.weight(key, n_tasks)
        return 1.0

    def _weights(self, traces: Mapping[Label, Trace]) -> list[float]:
        """Return how much each trace counts.

        The choice of a ridge depends on how many samples there are: as many as their weights sum
        up to, and no fewer than there are. Weights that sum up to less are scaled.
        """
        n_tasks, sizes = self._n_tasks, {key: trace.n_samples for key, trace in traces.items()}
        wanted = self.rule.class_weight if self.rule.retain == "classes" else None
        each = class_weights(wanted, sizes)
        n_weighted = sum(each[key] * size for key, size in sizes.items())
        scale = max(sum(task.n_samples for task in self.tasks) / n_weighted, 1.0)
        return [scale * each[key] * self._weight(key, n_tasks) for key in traces]

    def _sizes(self, weights: Mapping[Label, float]) -> np.ndarray:
        """Return how many samples of each class count, given the weight of each trace."""
        sizes = dict.fromkeys(self.labels, 0.0)
        for number, task in enumerate(self.tasks):
            for label in task.classes:
                key = {"tasks": number, "classes": label}.get(self.rule.retain, TOTAL)
                sizes[label] += weights[key] * task.weight(label)
        return np.array(list(sizes.values()))

    def _extended(self, task: list[FullTrace]) -> Factor | None:
        """Return the kept factor with a further task, if that is cheaper than a new one."""
        if self.factor is None or not isinstance(task[0], FewSamples):
            return None
        return self.factor.extended(task[0].rows)

    def _summed(self, batches: Batches) -> dict[Label, RunningSums]:
        """Return the sums of what this process is given, in total or per class."""
        parts: dict[Label, RunningSums] = {}
        for batch in batches():
            groups: list[tuple[Label, Batch]] = [(TOTAL, batch)]
            if self.rule.retain == "classes":
                A, y, *weights = batch
                own = [(label.item(), np.flatnonzero(y == label)) for label in np.unique(y)]
                groups = [
                    (label, (take(A, rows), y[rows], *(w[rows] for w in weights)))
                    for label, rows in own
                ]
            for key, some in groups:
                if key not in parts:
                    parts[key] = self.no_sums()
                parts[key].add(*some)
        return parts

    def no_sums(self) -> RunningSums:
        """Return the sums of nothing; variances would not survive products of single precision."""
        precision = self.rule.precision if self.intercept is None else "float64"
        return RunningSums(self.dimension, self.device, precision)

    def _consolidate(
        self, current: Trace, labels: list[Label], n_tasks: int
    ) -> tuple[Array, Calibration]:
        """Solve the objective for Omega_{1:T} (Eq. varOmega_cc) and calibrate its scores."""
        system = System.zeros(self.dimension, len(labels), self.device)
        current.add_to(system, labels, 1.0)
        n_samples = current.n_samples
        if 2 in self.rule.terms:
            for key, trace in self.traces.items():
                weight = self._weight(key, n_tasks)
                trace.add_to(system, labels, weight)
                n_samples += weight * trace.n_samples
        gram, cross = system.shared, system.rhs
        if system.diagonal is not None and isinstance(current, FullTrace):
            # A diagonal is no Gram matrix of data: ridge and noise come from the task itself.
            gram, cross, n_samples = current.gram, current.cross, current.n_samples
        equations = NormalEquations(gram, cross, n_samples)
        third = 3 in self.rule.terms and len(self.labels) > 0
        if third:
            ridge, error = 1.0, left_out_error(equations, 1.0)
            system.rhs[:, : len(self.labels)] += self.omega
        else:
            alone = self._regress(equations)
            ridge, error, omega = alone.ridge, alone.error, alone.omega
        if third or system.diagonal is not None:
            own = diagonal(system.shared)
            own += ridge
            omega = system.solve()
        xp = namespace(omega)
        if not bool(xp.all(xp.isfinite(omega))):
            raise ClsnetError(TOO_LARGE)
        # In the layout in which it is saved: another one would round otherwise.
        return contiguous(omega), Calibration.of_noise(n_samples * error / len(labels))

    def _refuse_known(self, task: LearnedTask) -> None:
        known = [label for label in task.classes if label in self.labels]
        if known:
            raise ClsnetError(
                f"class {known[0]!r} was learned before, and the diagonal curvature (the paper's "
                'rule) cannot learn more of an old class; use curvature="full".'
            )

    # ------------------------------------------------------------------- memory

    def _compress(self, current: FullTrace, batches: Batches | None) -> Trace:
        """Keep less than everything of the current task, around its declarative parameters."""
        rule = self.rule
        equations = NormalEquations(current.gram, current.cross, current.n_samples)
        alone = regress(equations, rule.ridge)
        omega = alone.omega  # Eq. (varOmega)
        if rule.curvature == "low-rank":
            return LowRankTrace.of(current, omega, rule.rank, alone.ridge)
        if batches is None:
            raise ClsnetError(NEEDS_SAMPLES)
        F, phantom = plasticity(batches(), current.labels, omega, rule.fisher, rule.phantoms)
        return DiagonalTrace(current.labels, F, F * omega, phantom, current.n_samples)

    def _remember(self, kept: dict[Label, Trace]) -> dict[Label, Trace]:
        """Add the traces of a new task to the old ones."""
        traces = dict(self.traces)
        number = len(self.tasks)
        if self.rule.retain == "tasks":
            return {**traces, number: kept[TOTAL]}
        gamma = self.rule.gamma_of(number)
        for key, trace in kept.items():
            if key in traces:
                old = traces[key]
                only = self.rule.retain == TOTAL and not few_together([old, trace], MERGED)
                old = old.dense if only else old
                joined = PendingRows.joined(old, trace) if only and self.rule.plain else None
                traces[key] = joined or _merged(old, trace, gamma)
            else:
                traces[key] = trace if gamma == 1 else trace.times(gamma)
        return traces

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


def _summed_task(parts: Mapping[Label, RunningSums]) -> SummedTask:
    """Return what was summed of a task, each class of which is in one of the parts."""
    if not parts:
        raise ClsnetError("this task is empty: there is no batch to learn from.")
    if not all(part.finite for part in parts.values()):
        raise ClsnetError(TOO_LARGE)
    counts = {label: n for part in parts.values() for label, n in part.counts.items()}
    weights = {label: w for part in parts.values() for label, w in part.weights.items()}
    task = LearnedTask(
        {label: counts[label] for label in sorted(counts)},  # type: ignore[type-var]
        {label: weight for label, weight in weights.items() if weight != counts[label]},
    )
    return SummedTask(task, {key: trace_of(part) for key, part in parts.items()})


def _calibrated(found: Regression, sizes: np.ndarray, n_samples: float) -> Calibration:
    """Return how the scores of a solution become probabilities, given the sizes of classes."""
    if found.sums is None or found.squares is None:
        return Calibration.of_noise(n_samples * found.error / len(sizes))
    return Calibration.of_sums(to_numpy(found.sums), to_numpy(found.squares), sizes, found.df)


def _merged(old: Trace, task: Trace, gamma: float) -> Trace:
    """Return ``old + gamma task``; the sums of the task are nobody else's and may be used up."""
    if gamma == 1 and isinstance(old, UpperTriangle) and isinstance(task, UpperTriangle):
        return task.absorbing(old)
    return old.merge(task, gamma)
