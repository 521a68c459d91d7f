"""The checks of methods find out what is broken."""

import itertools
from collections import deque
from dataclasses import replace

import numpy as np
import pytest

from clsnet.checks import check_method, method_checks
from clsnet.memory import MemoryUse
from clsnet.methods import Method


class Means:
    """Nearest class mean of pixels: passes every check, and is broken in many ways below."""

    def __init__(self, seed=0, forgetting=False):
        self.random = np.random.RandomState(seed)
        self.forgetting = forgetting
        self.sums, self.counts = {}, {}

    def partial_fit(self, X, y):
        if self.forgetting:
            self.sums = dict.fromkeys(self.sums, np.full(64, 1e9))
        for label in np.unique(y).tolist():
            rows = X[y == label].reshape(-1, 64).astype(np.float32)
            self.sums[label] = self.sums.get(label, 0) + rows.sum(axis=0)
            self.counts[label] = self.counts.get(label, 0) + len(rows)
        return self

    def predict(self, X):
        means = np.stack([self.sums[label] / self.counts[label] for label in self.sums])
        distances = ((X.reshape(len(X), 1, 64) - means.astype(np.float64)) ** 2).sum(axis=2)
        return np.array(list(self.sums))[distances.argmin(axis=1)]

    def memory(self):
        return MemoryUse(4 * sum(array.size for array in self.sums.values()) / 2**20)


class OfNoSeed(Means):
    built = itertools.count()

    def __init__(self, seed=0, forgetting=False):
        super().__init__(seed, forgetting)
        self.number = next(self.built)

    def predict(self, X):
        answers = super().predict(X)
        return np.where(answers == 4, 9, answers) if self.number % 2 else answers


class OfTheBatch(Means):
    def predict(self, X):
        return super().predict(X - X.mean(axis=0) + 60)


class Drifting(Means):
    def predict(self, X):
        self.sums = {label: 1.1 * total for label, total in self.sums.items()}
        return super().predict(X)


class KeepingArrays(Means):
    def partial_fit(self, X, y):
        self.kept_images, self.kept_labels = X, y
        return super().partial_fit(X, y)

    def predict(self, X):
        nearest = [np.abs(self.kept_images - x.astype(float)).sum(axis=(1, 2)).argmin() for x in X]
        return self.kept_labels[nearest]


class Writing(Means):
    def partial_fit(self, X, y):
        super().partial_fit(X, y)
        X[0] = 0
        return self


class Foreseeing(Means):
    def predict(self, X):
        return np.where(X.reshape(len(X), -1)[:, 20] > 200, 5, super().predict(X))


class Stubborn(Means):
    def partial_fit(self, X, y):
        return self if self.sums else super().partial_fit(X, y)


class Boastful(Means):
    def memory(self):
        return MemoryUse(super().memory().model_mb + 1)


class Unmeasured(Means):
    def memory(self):
        return {"model_mb": 1.0}


class InAList(Means):
    def partial_fit(self, X, y):
        self.buffer = deque([{"some": X[:3].copy()}])
        return super().partial_fit(X, y)


class InAClosure(Means):
    def partial_fit(self, X, y):
        some = X[:3].copy()
        self.rehearse = lambda: some
        return super().partial_fit(X, y)


class InAView(Means):
    def partial_fit(self, X, y):
        self.first = X.copy()[:0]
        return super().partial_fit(X, y)


class LeftOut(Means):
    """Keeps samples that it needs, and leaves them out of its state."""

    def partial_fit(self, X, y):
        if getattr(self, "buffer", None) is not None:
            super().partial_fit(*self.buffer)
        self.buffer = (X[:60].copy(), y[::-1][:60].copy())
        return super().partial_fit(X, y)

    def __getstate__(self):
        return {**vars(self), "buffer": None}


class Dead(Means):
    def partial_fit(self, X, y):
        self.importance = np.zeros(64)
        return super().partial_fit(X, y)

    def memory(self):
        return MemoryUse(super().memory().model_mb + 4 * 64 / 2**20)


class OfTheLastTask(Means):
    """Depends on the order of tasks, and says that it does not."""

    order_free = True

    def partial_fit(self, X, y):
        self.middle = X.reshape(-1, 64).mean(axis=0)
        return super().partial_fit(X, y)

    def predict(self, X):
        return super().predict(X - self.middle.reshape(8, 8))

    def memory(self):
        return MemoryUse(super().memory().model_mb + 4 * 64 / 2**20)


class WithoutMechanism(Means):
    def __init__(self, seed=0, forgetting=False):
        super().__init__(seed)


class NoLearner:
    def __init__(self, seed=0):
        pass


def method(learner, **changes):
    described = Method(
        name=learner.__name__,
        module=__name__,
        learner=learner.__name__,
        family="test",
        keeps="one mean per class",
        reference="this file",
        without={"forgetting": True},
    )
    return replace(described, **changes)


def failures(method, **options):
    failed = {}
    for check in method_checks(method, **options):
        try:
            check()
        except AssertionError as error:
            failed[check.name] = str(error)
    return failed


def test_a_sound_method_passes():
    check_method(method(Means))


BROKEN = {
    OfNoSeed: "one_seed_gives_one_result",
    OfTheBatch: "prediction_ignores_the_rest_of_the_batch",
    Drifting: "prediction_changes_nothing",
    KeepingArrays: "no_array_of_the_caller_is_kept",
    Writing: "arrays_of_the_caller_are_not_written_to",
    Foreseeing: "answers_are_classes_seen_so_far",
    Stubborn: "the_newest_task_is_learned",
    Boastful: "memory_counts_every_array",
    Unmeasured: "memory_counts_every_array",
    InAList: "memory_counts_every_array",
    InAClosure: "memory_counts_every_array",
    InAView: "memory_counts_every_array",
    OfTheLastTask: "another_order_gives_the_same_answers",
    LeftOut: "a_copy_goes_on_alike",
    Dead: "nothing_that_is_kept_is_zero",
    WithoutMechanism: "the_mechanism_matters",
}


@pytest.mark.parametrize("learner", BROKEN, ids=lambda learner: learner.__name__)
def test_a_broken_method_fails_the_check_of_what_is_broken(learner):
    failed = failures(method(learner))
    assert BROKEN[learner] in failed
    assert failed[BROKEN[learner]].startswith(f"the method {learner.__name__!r}")
    with pytest.raises(AssertionError):
        check_method(method(learner))


def test_what_is_no_learner_is_named():
    (first, *_) = method_checks(method(NoLearner))
    with pytest.raises(AssertionError, match="is not a clsnet"):
        first()
