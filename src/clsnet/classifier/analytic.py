"""Subnetwork II: declarative parameters of each task, consolidated in closed form."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from clsnet.classifier.curvatures.full import (
    DiagonalTrace,
    FewSamples,
    FullTrace,
    LowRankTrace,
    Trace,
    few_together,
    total,
)
from clsnet.classifier.ridge.factor import Factor
from clsnet.classifier.forgetting.policy import Memory
from clsnet.classifier.curvatures.growing import Growing
from clsnet.classifier.curvatures.plasticity import plasticity
from clsnet.classifier.ridge.rule import Sums, left_out_error, regress
from clsnet.classifier.solvers import System
from clsnet.classifier.sums import PRECISIONS, Batch, Label, Statistics, take
from clsnet.arrays.ranks import summed
from clsnet.errors import ClsnetError

Batches = Callable[[], Iterable[Batch]]
TOTAL = "total"
MERGED = 32  # few samples are factorised anew with every task up to this part of the dimension
TOO_LARGE = "these samples hold values too large to be squared; scale them down."


@dataclass(frozen=True)
class Rule:
    """How a task is learned and what is kept of it."""

    curvature: str = "full"
    terms: tuple[int, ...] = (1, 2)
    ridge: float | str = "auto"
    retain: str = TOTAL
    fisher: str = "mean-of-squares"
    phantoms: int = 8
    rank: int = 200
    precision: str = "float64"
    memory: Memory = field(default_factory=Memory)

    def __post_init__(self) -> None:
        if not {1} <= set(self.terms) <= {1, 2, 3}:
            raise ClsnetError(f"terms={self.terms!r}: use 1, with or without 2 and 3.")
        if self.precision not in PRECISIONS:
            raise ClsnetError(f"precision={self.precision!r}: use one of {', '.join(PRECISIONS)}.")
        if np.size(self.memory.gamma) == 0 or np.min(self.memory.gamma) < 0:
            raise ClsnetError(
                f"gamma={self.memory.gamma!r}: use one value of 0 or more, or several."
            )
        if self.memory.fades and self.retain != "tasks":
            raise ClsnetError('short_term and queue forget whole tasks: they need retain="tasks".')
        if self.retain == "classes" and not self.additive:
            raise ClsnetError('retain="classes" needs curvature="full", gamma=1 and term 2.')

    @property
    def additive(self) -> bool:
        """Whether what is kept adds up to the sums over all data, each sample counted once."""
        equal = bool(np.all(np.asarray(self.memory.gamma) == 1))
        return self.curvature == "full" and 2 in self.terms and equal


@dataclass(frozen=True)
class Task:
    """A learned task: the number of samples of each class that still counts."""

    counts: dict[Label, int]

    @property
    def classes(self) -> list[Label]:
        """Classes of the task, sorted."""
        return list(self.counts)

    @property
    def n_samples(self) -> int:
        """Samples learned from."""
        return sum(self.counts.values())

    def without(self, classes: Collection[Label]) -> Task:
        """Return the task as if it had never had `classes`."""
        return Task({label: n for label, n in self.counts.items() if label not in classes})


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
    noise
        Squared error of one output on data left out, estimated from the sums.
    stale
        Whether tasks were observed that `omega` and `noise` do not know of yet.
    factor
        A factorisation of the sums, if one is at hand; neither saved nor copied.
    """

    rule: Rule
    dimension: int
    device: torch.device
    labels: list[Label] = field(default_factory=list)
    omega: Tensor = field(default_factory=lambda: torch.zeros(0, 0, dtype=torch.float64))
    traces: dict[Label, Trace] = field(default_factory=dict)
    tasks: list[Task] = field(default_factory=list)
    noise: float = 1.0
    stale: bool = False
    factor: Factor | None = field(default=None, repr=False, compare=False)

    def scores(self, A: Tensor) -> Tensor:
        """Return ``A Omega_{1:T}``, float64, one column per class."""
        return A.double() @ self.omega

    def learn(self, batches: Batches) -> AnalyticClassifier:
        """Learn one task. `batches` is called once per pass over it; the paper's rule makes two."""
        return self.observe(batches).consolidated()

    def observe(self, batches: Batches) -> AnalyticClassifier:
        """Take in one task. Where sums are all that is kept of it, the weights can wait."""
        parts = self._observe(batches)
        if not parts:
            raise ClsnetError("this task is empty: there is no batch to learn from.")
        if not all(part.finite for part in parts.values()):
            raise ClsnetError(TOO_LARGE)
        counts = {label: n for part in parts.values() for label, n in part.counts.items()}
        task = Task({label: counts[label] for label in sorted(counts)})  # type: ignore[type-var]
        if self.rule.curvature == "diagonal":
            self._refuse_known(task)
        old = self._without(tasks=self.rule.memory.faded(len(self.tasks) + 1))
        labels = old.labels + [label for label in task.classes if label not in old.labels]
        full = {key: FullTrace.of(part) for key, part in parts.items()}
        tasks = [*old.tasks, task]
        if self._plain:
            factor = old._extended(list(full.values()))
            traces = old._remember(dict(full))
            return replace(
                old, labels=labels, traces=traces, tasks=tasks, stale=True, factor=factor
            )
        current = functools.reduce(lambda a, b: a.merge(b), full.values())
        omega, noise = old._consolidate(current, labels)
        kept: dict[Label, Trace] = dict(full)
        if self.rule.curvature != "full":
            kept = {TOTAL: self._compress(current, batches)}
        traces = old._remember(kept)
        return replace(old, labels=labels, omega=omega, noise=noise, traces=traces, tasks=tasks)

    def consolidated(self) -> AnalyticClassifier:
        """Return the classifier with weights for everything observed."""
        if not self.stale:
            return self
        seen = total([trace for trace in self.traces.values() if isinstance(trace, FullTrace)])
        cross = seen.columns(self.labels)
        if isinstance(seen, Growing):
            sums = Sums(seen.base, cross, seen.n_samples, seen.rows)
        elif few := few_together([seen]):
            sums = Sums(None, cross, seen.n_samples, few[0].rows)
        else:
            sums = Sums(seen.gram, cross, seen.n_samples)
        found = regress(sums, self.rule.ridge, self.factor)
        return replace(
            self,
            # In the layout in which it is saved: another one would round otherwise.
            omega=found.omega.contiguous(),
            noise=min(seen.n_samples * found.error / len(self.labels), 1.0),
            stale=False,
            factor=found.factor if self.rule.retain == TOTAL else None,
        )

    def forget(
        self, tasks: Collection[int], classes: Collection[Label], exact: bool
    ) -> AnalyticClassifier:
        """Forget tasks or classes: exactly, as if never seen, or (``exact=False``) gracefully."""
        if not self._separable(tasks, classes):
            if exact:
                raise ClsnetError(self._why_not_exact(tasks, classes))
            return self.consolidated()._without(tasks, classes)
        left = self._without(tasks, classes)
        if not left.traces:
            none = torch.zeros(self.dimension, 0, dtype=torch.float64, device=self.device)
            return replace(left, omega=none, stale=False)
        if self._plain:
            return replace(left, stale=True).consolidated()
        *old, newest = left.traces
        traces = {key: left.traces[key] for key in old}
        omega, noise = replace(left, traces=traces)._consolidate(left.traces[newest], left.labels)
        return replace(left, omega=omega, noise=noise)

    # -------------------------------------------------------------- consolidation

    @property
    def _plain(self) -> bool:
        """Whether the objective is ridge regression on the sums over all that was seen."""
        return self.rule.additive and 3 not in self.rule.terms

    def _extended(self, task: list[FullTrace]) -> Factor | None:
        """Return the kept factor with a further task, if that is cheaper than a new one."""
        if self.factor is None or not isinstance(task[0], FewSamples):
            return None
        return self.factor.extended(task[0].rows)

    def _observe(self, batches: Batches) -> dict[Label, Statistics]:
        parts: dict[Label, Statistics] = {}
        for A, y in batches():
            groups: list[tuple[Label, Tensor, np.ndarray]] = [(TOTAL, A, y)]
            if self.rule.retain == "classes":
                own = [(label.item(), np.flatnonzero(y == label)) for label in np.unique(y)]
                groups = [(label, take(A, rows), y[rows]) for label, rows in own]
            for key, some, labels in groups:
                if key not in parts:
                    parts[key] = Statistics(self.dimension, self.device, self.rule.precision)
                parts[key].add(some, labels)
        return summed(parts, Statistics(self.dimension, self.device, self.rule.precision))

    def _consolidate(self, current: Trace, labels: list[Label]) -> tuple[Tensor, float]:
        """Solve the objective for Omega_{1:T} (Eq. varOmega_cc) and estimate the noise."""
        system = System.zeros(self.dimension, len(labels), self.device)
        n_samples = 0.0
        if 1 in self.rule.terms:
            current.add_to(system, labels, 1.0)
            n_samples += current.n_samples
        if 2 in self.rule.terms:
            for key, trace in self.traces.items():
                gamma = self._gamma(key)
                trace.add_to(system, labels, gamma)
                n_samples += gamma * trace.n_samples
        gram, cross = system.shared, system.rhs
        if system.diagonal is not None and isinstance(current, FullTrace):
            # A diagonal is no Gram matrix of data: ridge and noise come from the task itself.
            gram, cross, n_samples = current.gram, current.cross, current.n_samples
        third = 3 in self.rule.terms and len(self.labels) > 0
        if third:
            ridge, error = 1.0, left_out_error(gram, cross, n_samples, 1.0)
            system.rhs[:, : len(self.labels)] += self.omega
        else:
            alone = regress(Sums(gram, cross, n_samples), self.rule.ridge)
            ridge, error = alone.ridge, alone.error
        system.shared.diagonal().add_(ridge)
        omega = system.solve()
        if not torch.isfinite(omega).all():
            raise ClsnetError(TOO_LARGE)
        # In the layout in which it is saved: another one would round otherwise.
        return omega.contiguous(), min(n_samples * error / len(labels), 1.0)

    def _gamma(self, key: Label) -> float:
        """Weight of a trace among the old ones; a total is weighted as it grows."""
        if self.rule.retain == "tasks" and isinstance(key, int):
            return self.rule.memory.gamma_of(key)
        return 1.0

    def _refuse_known(self, task: Task) -> None:
        known = [label for label in task.classes if label in self.labels]
        if known:
            raise ClsnetError(
                f"class {known[0]!r} was learned before, and the diagonal curvature (the paper's "
                'rule) cannot learn more of an old class; use curvature="full".'
            )

    # ------------------------------------------------------------------- memory

    def _compress(self, current: FullTrace, batches: Batches) -> Trace:
        """Keep less than everything of the current task, around its declarative parameters."""
        sums = Sums(current.gram, current.cross, current.n_samples)
        alone = regress(sums, self.rule.ridge)
        omega = alone.omega  # Eq. (varOmega)
        if self.rule.curvature == "low-rank":
            return LowRankTrace.of(current, omega, self.rule.rank, alone.ridge)
        rule = self.rule
        F, phantom = plasticity(batches(), current.labels, omega, rule.fisher, rule.phantoms)
        return DiagonalTrace(current.labels, F, F * omega, phantom, current.n_samples)

    def _remember(self, kept: dict[Label, Trace]) -> dict[Label, Trace]:
        """Add the traces of a new task to the old ones."""
        traces = dict(self.traces)
        number = len(self.tasks)
        if self.rule.retain == "tasks":
            return {**traces, number: kept[TOTAL]}
        gamma = self.rule.memory.gamma_of(number)
        for key, trace in kept.items():
            if key in traces:
                old = traces[key]
                only = self.rule.retain == TOTAL and not few_together([old, trace], MERGED)
                old = old.dense if only else old
                grown = Growing.joined(old, trace) if only and self._plain else None
                traces[key] = grown or old.merge(trace, gamma)
            else:
                traces[key] = trace if gamma == 1 else trace.times(gamma)
        return traces

    # --------------------------------------------------------------- forgetting

    def _separable(self, tasks: Collection[int], classes: Collection[Label]) -> bool:
        """Whether what is kept falls apart into what goes and what stays."""
        if self.rule.curvature != "full" or 3 in self.rule.terms:
            return False
        if self.rule.retain == "classes":
            return set(self._only_in(tasks)) == {c for t in tasks for c in self.tasks[t].classes}
        if self.rule.retain == "tasks":
            touched = [task for task in self.tasks if set(task.classes) & set(classes)]
            return all(set(task.classes) <= set(classes) for task in touched)
        return False

    def _why_not_exact(self, tasks: Collection[int], classes: Collection[Label]) -> str:
        if self.rule.curvature != "full":
            why = f"the {self.rule.curvature} curvature does not keep all that a task left behind"
        elif 3 in self.rule.terms:
            why = "the third term of the objective carries every earlier solution along"
        elif self.rule.retain == TOTAL:
            why = 'the model keeps only the total of all tasks (retain="total")'
        elif self.rule.retain == "tasks":
            why = "the model keeps one sum per task, and a task holds other classes too"
        else:
            why = (
                "the model keeps one sum per class, and a class of this task was learned in others"
            )
        wanted = "tasks" if tasks else "classes"
        return (
            f"exact forgetting is not available: {why}. Available: forget(..., exact=False), which "
            "removes the classes from every answer but leaves their mark on the shared weights; "
            f'or a model learned with curvature="full" and retain="{wanted}".'
        )

    def _only_in(self, tasks: Collection[int]) -> list[Label]:
        """Classes of these tasks that no other task has."""
        others = {c for t, task in enumerate(self.tasks) if t not in tasks for c in task.classes}
        mine = dict.fromkeys(c for t in tasks for c in self.tasks[t].classes)
        return [label for label in mine if label not in others]

    def _without(
        self, tasks: Collection[int] = (), classes: Collection[Label] = ()
    ) -> AnalyticClassifier:
        """Drop traces and columns, and leave the other columns as they are."""
        gone = {*classes, *self._only_in(tasks)}
        if not gone and not tasks:
            return self
        stay = [i for i, label in enumerate(self.labels) if label not in gone]
        left = [Task({}) if t in tasks else task.without(gone) for t, task in enumerate(self.tasks)]
        empty: Collection[Label] = ()
        if self.rule.retain == "classes":
            empty = gone
        elif self.rule.retain == "tasks":
            empty = [t for t, task in enumerate(left) if not task.counts]
        traces = {k: trace.without(gone) for k, trace in self.traces.items() if k not in empty}
        return replace(
            self,
            labels=[self.labels[i] for i in stay],
            omega=self.omega if self.stale else self.omega[:, stay],
            traces=traces,
            tasks=left,
            factor=None,
        )
