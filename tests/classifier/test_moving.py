"""Samples taken out of sums, or moved to another class, beside classifiers that never erred."""

import itertools

import numpy as np
import pytest

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.curvatures import FewSamples, FullTrace, trace_of
from clsnet.classifier.moving import moved
from clsnet.classifier.rule import Rule
from clsnet.classifier.sums import RunningSums
from clsnet.errors import ClsnetError

SIZE = 24
RANDOM = np.random.default_rng(0)
MIXING = RANDOM.standard_normal((6, SIZE))


def samples(counts, seed):
    """Features like those behind a ReLU, the last one constant."""
    random = np.random.default_rng(seed)
    y = np.repeat(list(counts), list(counts.values()))
    shift = np.array([[ord(label) - ord("b")] for label in y])
    A = np.maximum((random.standard_normal((len(y), 6)) + shift) @ MIXING, 0)
    return np.concatenate([A, np.ones((len(A), 1))], axis=1)[:, 1:], y


def taught(tasks, **options):
    classifier = AnalyticClassifier(Rule(**options), SIZE, "cpu")
    for task in tasks:
        classifier = classifier.learn(lambda task=task: [task])
    return classifier


def assert_same(found, expected, tolerance=1e-8):
    assert found.labels == expected.labels
    assert [task.counts for task in found.tasks] == [task.counts for task in expected.tasks]
    assert list(found.traces) == list(expected.traces)
    assert abs(found.omega - expected.omega).max() <= tolerance * abs(expected.omega).max()
    assert found.calibration.temperature == pytest.approx(expected.calibration.temperature)
    for key, trace in found.traces.items():
        other = expected.traces[key]
        assert ({*trace.labels}, trace.n_samples) == ({*other.labels}, other.n_samples)
        cross = trace.columns(other.labels)
        np.testing.assert_allclose(trace.gram, other.gram, atol=1e-10 * abs(other.gram).max())
        np.testing.assert_allclose(cross, other.cross, atol=1e-10 * abs(other.cross).max())


# -------------------------------------------------------------------------------- the trace


def matrix(kind, n):
    A = np.random.default_rng(n).standard_normal((n, SIZE))
    if kind == "twice":
        A = A[np.arange(n) // 2]
    elif kind == "constant":
        A[:, :20] = 1.5
    elif kind == "large and small":
        A *= np.logspace(0, -6, n)[:, None]
    return A


@pytest.mark.parametrize("kind", ["plain", "twice", "constant", "large and small"])
@pytest.mark.parametrize(("n", "k"), [(2, 1), (7, 1), (12, 5), (12, 11), (30, 1), (30, 20)])
def test_taking_samples_out_leaves_the_sums_of_the_others(kind, n, k):
    A, y = matrix(kind, n), np.array(["a"] * n)
    left = trace_of(RunningSums(SIZE).add(A, y)).less(trace_of(RunningSums(SIZE).add(A[:k], y[:k])))
    assert left.n_samples == n - k
    np.testing.assert_allclose(left.gram, A[k:].T @ A[k:], atol=1e-13 * (A**2).sum())
    np.testing.assert_allclose(left.cross[:, 0], A[k:].sum(axis=0), atol=1e-13 * abs(A).sum())
    assert isinstance(left, FewSamples) == (n <= 12)
    if isinstance(left, FewSamples):
        assert left.rows.shape == (n - k, SIZE)
        np.testing.assert_array_equal(left.rows, np.triu(left.rows))


@pytest.mark.parametrize("n", [7, 30])
def test_what_was_not_learned_cannot_be_taken_out(n):
    A, y = matrix("plain", n), np.array(["a"] * n)
    trace = trace_of(RunningSums(SIZE).add(A, y))
    with pytest.raises(ClsnetError, match="not among those that were learned"):
        trace.less(trace_of(RunningSums(SIZE).add(100 * matrix("plain", 3)[:1], y[:1])))


def test_samples_that_another_machine_computed_are_taken_out_with_a_warning():
    A, y = matrix("plain", 7), np.array(["a"] * 7)
    trace, near = trace_of(RunningSums(SIZE).add(A, y)), A[:1] * (1 + 1e-6 * matrix("plain", 1))
    with pytest.warns(UserWarning, match=r"differ by \de-0[67] from those learned"):
        left = trace.less(trace_of(RunningSums(SIZE).add(near, y[:1])))
    np.testing.assert_allclose(left.gram, A[1:].T @ A[1:], atol=1e-4)
    with pytest.raises(ClsnetError, match="not among those"):
        trace.less(trace_of(RunningSums(SIZE).add(A[:1] + 0.1 * matrix("plain", 1), y[:1])))


def test_full_traces_are_not_changed_by_taking_samples_out():
    A, y = matrix("plain", 30), np.array(["a"] * 30)
    trace = trace_of(RunningSums(SIZE).add(A, y))
    before = trace.gram.copy()
    assert isinstance(trace.less(trace_of(RunningSums(SIZE).add(A[:1], y[:1]))), FullTrace)
    np.testing.assert_array_equal(trace.gram, before)


# --------------------------------------------------------------------------- the classifier

TASKS = {
    "few": [{"a": 4, "c": 3}, {"b": 5, "c": 4}],
    "many": [{"a": 40, "c": 30}, {"b": 50, "c": 40}],
    "few and many": [{"a": 3, "b": 60}, {"c": 5, "d": 30}],
}


@pytest.mark.parametrize("retain", ["total", "classes"])
@pytest.mark.parametrize("tasks", TASKS.values(), ids=TASKS)
@pytest.mark.parametrize("new", [None, "b", "aa"])
def test_moving_samples_equals_having_learned_them_right_at_once(retain, tasks, new):
    data = [samples(counts, seed) for seed, counts in enumerate(tasks)]
    wrong = taught(data, retain=retain)
    right = list(data)
    rows = {}  # two samples of c in the last task, and one of a in the first
    for number, label, n in ((1, "c", 2), (0, "a", 1)):
        A, y = right[number]
        own = np.flatnonzero(y == label)[:n]
        rows[label] = A[own]
        y = y.astype(object)
        y[own] = new
        keep = np.array([label is not None for label in y])
        right[number] = A[keep], y[keep].astype(str)
    A, old = np.concatenate([rows["c"], rows["a"]]), ["c", "c", "a"]
    found = moved(wrong, A, old, new)
    assert_same(found, taught(right, retain=retain))


@pytest.mark.parametrize("retain", ["total", "classes"])
def test_moving_back_and_forth_comes_back(retain):
    data = samples({"a": 9, "b": 30, "c": 4}, 0)
    start = taught([data], retain=retain)
    there = moved(start, data[0][:3], ["a"] * 3, "c")
    assert_same(moved(there, data[0][:3], ["c"] * 3, "a"), start)


def test_errors_do_not_add_up():
    data = samples({"a": 11, "b": 30, "c": 4}, 0)
    start = found = taught([data], retain="classes")
    for _ in range(30):
        found = moved(found, data[0][:3], ["a"] * 3, "b")
        found = moved(found, data[0][:3], ["b"] * 3, "a")
    assert_same(found, start, 1e-11)


@pytest.mark.parametrize("retain", ["total", "classes"])
def test_the_last_sample_of_a_class_takes_the_class_along(retain):
    A, y = samples({"a": 2, "b": 6}, 0)
    left = moved(taught([(A, y)], retain=retain), A[:2], ["a", "a"])
    assert_same(left, taught([(A[2:], y[2:])], retain=retain))
    nothing = moved(left, A[2:], ["b"] * 6)
    assert (nothing.labels, nothing.traces, nothing.omega.shape) == ([], {}, (SIZE, 0))


def test_taken_one_by_one_or_together_the_same_is_left():
    A, y = samples({"a": 11, "b": 30}, 0)
    for order in itertools.permutations(range(3)):
        one = taught([(A, y)], retain="classes")
        for row in order:
            one = moved(one, A[row : row + 1], ["a"])
        assert_same(one, taught([(A[3:], y[3:])], retain="classes"))


@pytest.mark.parametrize(
    "options",
    [{"retain": "tasks"}, {"precision": "float32"}, {"terms": (1, 2, 3)}, {"gamma": 0.5}],
    ids=str,
)
def test_where_sums_do_not_tell_nothing_is_taken_out(options):
    A, y = samples({"a": 4, "b": 6}, 0)
    with pytest.raises(ClsnetError, match="cannot be taken out of this model exactly"):
        moved(taught([(A, y)], **options), A[:1], ["a"])


def test_weighted_samples_are_not_taken_out():
    A, y = samples({"a": 4, "b": 6}, 0)
    weighted = AnalyticClassifier(Rule(), SIZE, "cpu").learn(lambda: [(A, y, np.arange(1.0, 11))])
    with pytest.raises(ClsnetError, match="equal weights"):
        moved(weighted, A[:1], ["a"])


def test_no_more_samples_are_taken_out_than_there_are():
    A, y = samples({"a": 2, "b": 6}, 0)
    with pytest.raises(ClsnetError, match="not among those"):
        moved(taught([(A, y)]), A[:3], ["a"] * 3)
