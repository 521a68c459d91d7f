"""Checks that every compared method has to pass: ours, and those of other packages.

`check_method` is to a method what scikit-learn's ``check_estimator`` is to an estimator. A check
is a sentence about the method; it fails with an `AssertionError` that says what was found.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from clsnet.data import Task, load_sequence
from clsnet.evaluation.reachable import reachable_arrays
from clsnet.images import Samples
from clsnet.memory import MEGABYTE, MemoryUse
from clsnet.methods import ExtractorLearner, Learner, Method, OrderFree

BRIGHTNESS = 15  # Digits are as bright as photos then: 0 to 240 in place of 0 to 16
GARBAGE = 113
BETTER_THAN_GUESSING = 0.55  # of the newest task's samples, among four classes
GAIN = 0.05  # in accuracy on an old task


def check_method(method: Method, **options: Any) -> None:
    """Raise an `AssertionError` if a method breaks one of the promises that all methods make.

    The method learns small tasks of handwritten digits. It has to be honest: the same seed gives
    the same result; a prediction depends on one sample only; the caller's arrays are neither kept
    nor changed; ``memory()`` counts every array; a learner that claims to be `order_free` gives the
    same answers after the same tasks in another order. And it has to work: it learns, and its
    protection of old tasks makes a difference.

    Parameters
    ----------
    method
        The method's description.
    options
        Options of the method, for instance to make it smaller and faster.

    Examples
    --------
    >>> from clsnet.methods import get_method
    >>> check_method(get_method("ncm"), device="cpu")
    """
    for check in method_checks(method, **options):
        check()


@dataclass(frozen=True)
class Check:
    """One promise of one method; call it to check it."""

    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        """Raise an `AssertionError` if the promise is broken."""
        self.run()

    def __str__(self) -> str:
        return self.name


def method_checks(method: Method, **options: Any) -> list[Check]:
    """Return the checks of a method one by one, to parametrise a test.

    They share trained learners, so together they take less time than separately. Nothing is learned
    before the first check is called.

    Examples
    --------
    >>> from clsnet.methods import get_method
    >>> print(*method_checks(get_method("ncm"))[:3], sep=", ")
    one_seed_gives_one_result, prediction_ignores_the_rest_of_the_batch, prediction_changes_nothing
    """
    witness = Witness(method, options)
    return [Check(check.__name__, partial(check, witness)) for check in CHECKS]


class Witness:
    """A learner that goes through two tasks, and what is seen on the way.

    Parameters
    ----------
    method, options
        What to build.
    """

    def __init__(self, method: Method, options: dict[str, Any]) -> None:
        self.method = method
        self.options = options
        self.name = f"the method {method.name!r}"

    def build(self, **options: Any) -> Learner:
        """Return a learner that has learned nothing."""
        return self.method.build(0, "fast", **{**self.options, **options})

    def learned(self, tasks: Sequence[Task], **options: Any) -> Learner:
        """Return a learner that has learned tasks."""
        learner = self.build(**options)
        for task in tasks:
            learner.partial_fit(np.array(task.X_train), np.array(task.y_train))
        return learner

    @cached_property
    def learner(self) -> Learner:
        """Learn two tasks, and overwrite their arrays afterwards."""
        learner = self.build()
        assert isinstance(learner, Learner), f"{self.name} is not a clsnet.methods.Learner"
        self.wrote_to_arrays = False
        self.answers: list[np.ndarray] = []
        given = []
        for task in tasks()[:2]:
            X, y = np.array(task.X_train), np.array(task.y_train)
            learner.partial_fit(X, y)
            same = np.array_equal(X, task.X_train) and np.array_equal(y, task.y_train)
            self.wrote_to_arrays |= not same
            self.answers.append(learner.predict(samples()))
            given += [X, y]
        for array in given:
            array[...] = GARBAGE
        return learner

    @cached_property
    def again(self) -> Learner:
        """Learn the same tasks with the same seed, and a third one."""
        again = self.learned(tasks()[:2])
        self.same_answers = again.predict(samples())
        self.same_memory = again.memory()
        third = tasks()[2]
        again.partial_fit(np.array(third.X_train), np.array(third.y_train))
        return again

    def accuracy(self, learner: Learner, task: Task) -> float:
        """Return the accuracy on a task's test samples."""
        return float(np.mean(learner.predict(task.X_test) == task.y_test))


# ------------------------------------------------------------------------------- honesty


def one_seed_gives_one_result(witness: Witness) -> None:
    """Give the same answers and take the same memory with the same seed and the same tasks."""
    learner, _ = witness.learner, witness.again
    differing = int(np.sum(witness.same_answers != witness.answers[1]))
    assert not differing, f"{witness.name} gave {differing} different answers with the same seed"
    same = witness.same_memory == learner.memory()
    assert same, f"{witness.name} took a different amount of memory with the same seed"


def prediction_ignores_the_rest_of_the_batch(witness: Witness) -> None:
    """Answer the same about a sample alone, in any batch and in any order."""
    learner, X, answers = witness.learner, samples(), witness.answers[1]
    random = np.random.RandomState(0)
    alone = random.choice(len(X), 8, replace=False)
    labels = np.concatenate([task.y_test for task in tasks()[:3]])
    batches = {
        "in another order": random.permutation(len(X)),
        "in a smaller batch": random.choice(len(X), 30),
        "among copies of itself": np.repeat(alone, 3),
        "among samples of its own class": np.flatnonzero(labels == tasks()[0].classes[0]),
    }
    batches |= {f"alone (sample {row})": np.array([row]) for row in alone}
    for how, rows in batches.items():
        same = np.array_equal(learner.predict(X[rows]), answers[rows])
        assert same, f"{witness.name} answers differently when a sample comes {how}"


def prediction_changes_nothing(witness: Witness) -> None:
    """Give the same answers when asked again."""
    learner, answers = witness.learner, witness.answers[1]
    for _ in range(2):
        same = np.array_equal(learner.predict(samples()), answers)
        assert same, f"{witness.name} answers differently when it is asked again"


def no_array_of_the_caller_is_kept(witness: Witness) -> None:
    """Answer the same after the arrays that were learned from are overwritten."""
    answers = witness.learner.predict(samples())
    same = np.array_equal(answers, witness.answers[1]) and GARBAGE not in answers
    assert same, f"{witness.name} keeps the caller's arrays: overwriting them changed its answers"


def arrays_of_the_caller_are_not_written_to(witness: Witness) -> None:
    """Leave the caller's arrays as they are."""
    assert witness.learner is not None
    assert not witness.wrote_to_arrays, f"{witness.name} wrote to the arrays of the caller"


def answers_are_classes_seen_so_far(witness: Witness) -> None:
    """Answer with known classes, even about samples of classes that are still to come."""
    assert witness.learner is not None
    known: set[int] = set()
    for task, answers in zip(tasks(), witness.answers, strict=False):
        known |= set(task.classes)
        unknown = set(answers.tolist()) - known
        assert not unknown, f"{witness.name} answers with {unknown}, which no task has brought yet"
    newest = set(tasks()[1].classes) & set(witness.answers[1].tolist())
    assert newest, f"{witness.name} never answers with a class of its newest task"


def memory_counts_every_array(witness: Witness) -> None:
    """Count in ``memory()`` what can be reached from the learner, number by number.

    Every array that is reachable through attributes, containers and closures counts with four
    bytes a number, as in the paper. Memory that is shared counts once. A symmetric matrix, and one
    that is zero below its diagonal, may count as its upper triangle. Labels and counts, which are
    integers in arrays of one dimension or plain Python numbers, may count or not. A frozen network
    is what ``backbone_mb`` says. What an object leaves out of its copies, by ``__getstate__`` or
    ``__reduce__``, does not count, since it can be computed again: `a_copy_goes_on_alike` checks
    that.
    """
    learner = witness.learner
    memory = learner.memory()
    assert isinstance(memory, MemoryUse), f"{witness.name}: memory() is not a clsnet MemoryUse"
    assert memory.model_mb > 0, f"{witness.name} keeps no model at all"
    assert memory.exemplar_mb >= 0, f"{witness.name} counts less than no exemplars"
    found = reachable_arrays(learner)
    counted, frozen = _numbers(memory.model_mb + memory.exemplar_mb), _numbers(memory.backbone_mb)
    assert found.least <= counted + frozen, (
        f"{witness.name}: memory() counts {counted + frozen:,} numbers, but it holds at least "
        f"{found.least:,}: {found}"
    )
    assert counted <= found.most, (
        f"{witness.name}: memory() counts {counted:,} numbers, but it holds at most "
        f"{found.most:,}: {found}"
    )


def a_copy_goes_on_alike(witness: Witness) -> None:
    """Learn the next task exactly as a deep copy does."""
    twin, third = copy.deepcopy(witness.learner), tasks()[2]
    twin.partial_fit(np.array(third.X_train), np.array(third.y_train))
    same = np.array_equal(twin.predict(samples()), witness.again.predict(samples()))
    assert same, f"{witness.name} goes on differently after it was copied"


def another_order_gives_the_same_answers(witness: Witness) -> None:
    """Answer the same after the same tasks in another order, if the learner says `order_free`."""
    learner = witness.learner
    if not (isinstance(learner, OrderFree) and learner.order_free):
        return
    answers = witness.learned(tasks()[1::-1]).predict(samples())
    differing = int(np.sum(answers != witness.answers[1]))
    assert not differing, (
        f"{witness.name} says that it is order_free, but {differing} of {len(answers)} answers "
        "differ after the same tasks in another order"
    )


# ----------------------------------------------------------------------------- learning


def the_newest_task_is_learned(witness: Witness) -> None:
    """Recognise the newest task's samples better than by guessing among all classes."""
    found = witness.accuracy(witness.learner, tasks()[1])
    assert found > BETTER_THAN_GUESSING, (
        f"{witness.name} recognises {found:.2f} of its newest task, not {BETTER_THAN_GUESSING}"
    )


def nothing_that_is_kept_is_zero(witness: Witness) -> None:
    """Find no array that holds nothing but zeros, except in a fixed extractor."""
    learner = witness.learner
    fixed = learner.extractor_ if isinstance(learner, ExtractorLearner) else None
    of_extractor = {array.place for array in reachable_arrays(fixed).arrays}
    kept = [a for a in reachable_arrays(learner).arrays if a.place not in of_extractor]
    dead = [array.path for array in kept if array.is_zero]
    assert not dead, f"{witness.name} keeps only zeros in {', '.join(dead)}"


def the_mechanism_matters(witness: Witness) -> None:
    """Recognise the first task less well with the protection of old tasks switched off.

    `Method.without` says how to switch it off. Tasks bring new classes, or, should that show no
    difference, the same ten classes with their pixels in another order.
    """
    off = witness.method.without
    if off is None:
        return
    first, second = tasks()[:2]
    protected = witness.accuracy(witness.learner, first)
    bare = witness.accuracy(witness.learned([first, second], **off), first)
    if protected - bare < GAIN:
        stream = permuted_tasks()
        protected = witness.accuracy(witness.learned(stream), stream[0])
        bare = witness.accuracy(witness.learned(stream, **off), stream[0])
    assert protected - bare >= GAIN, (
        f"{witness.name} recognises {protected:.2f} of an old task, and {bare:.2f} with {off}: "
        "what should protect old tasks makes no difference"
    )


CHECKS: tuple[Callable[[Witness], None], ...] = (
    one_seed_gives_one_result,
    prediction_ignores_the_rest_of_the_batch,
    prediction_changes_nothing,
    no_array_of_the_caller_is_kept,
    arrays_of_the_caller_are_not_written_to,
    answers_are_classes_seen_so_far,
    memory_counts_every_array,
    a_copy_goes_on_alike,
    another_order_gives_the_same_answers,
    the_newest_task_is_learned,
    nothing_that_is_kept_is_zero,
    the_mechanism_matters,
)

# -------------------------------------------------------------------------------- tasks


@cache
def tasks() -> list[Task]:
    """Return tasks of handwritten digits: (4, 9), (8, 7), (5, 3) and so on."""
    sequence = load_sequence("Digits-10/5")
    plain = sequence.tasks(sequence.order(seed=0, index=0))
    return [_brighter(task) for task in plain]


@cache
def samples() -> np.ndarray:
    """Return test samples of three tasks."""
    return np.concatenate([task.X_test for task in tasks()[:3]])


@cache
def permuted_tasks() -> list[Task]:
    """Return two tasks of all ten digits, the second with the pixels in another order."""
    data = load_sequence("Digits-10/1").dataset
    first = _brighter(Task(tuple(range(10)), data.X_train, data.y_train, data.X_test, data.y_test))
    order = np.random.RandomState(0).permutation(8 * 8)

    def permuted(X: Samples) -> np.ndarray:
        return np.asarray(X).reshape(len(X), -1)[:, order].reshape(X.shape)

    second = replace(first, X_train=permuted(first.X_train), X_test=permuted(first.X_test))
    return [first, second]


def _brighter(task: Task) -> Task:
    X_train, X_test = np.asarray(task.X_train), np.asarray(task.X_test)
    return replace(task, X_train=X_train * BRIGHTNESS, X_test=X_test * BRIGHTNESS)


def _numbers(megabytes: float) -> int:
    return round(megabytes * MEGABYTE / 4)
