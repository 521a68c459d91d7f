"""Classifiers that learned apart, added up."""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.curvatures import FullTrace
from clsnet.classifier.merging import merged, renamed
from clsnet.classifier.rule import Rule
from clsnet.errors import ClsnetError
from tests.classifier.test_moving import SIZE, samples, taught

RETAINS = ("total", "tasks", "classes")


def together(parts):
    return functools.reduce(merged, parts).consolidated()


def columns(classifier):
    """Weights by class, whatever the order of classes."""
    return dict(zip(classifier.labels, classifier.omega.T, strict=True))


def assert_same(found, expected, tolerance):
    a, b = columns(found), columns(expected)
    assert a.keys() == b.keys()
    scale = abs(expected.omega).max()
    for label, column in a.items():
        assert abs(column - b[label]).max() <= tolerance * scale
    assert found.calibration.temperature == pytest.approx(expected.calibration.temperature)


def assert_same_sums(found, expected):
    """Sums associate and commute to rounding; weights magnify it by the condition number."""
    a, b = (functools.reduce(FullTrace.merge, one.traces.values()) for one in (found, expected))
    assert a.n_samples == b.n_samples
    cross = a.columns(b.labels)
    np.testing.assert_allclose(a.gram, b.gram, rtol=0, atol=1e-12 * abs(b.gram).max())
    np.testing.assert_allclose(cross, b.cross, rtol=0, atol=1e-12 * abs(b.cross).max())


counts = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 40), min_size=1, max_size=3)


@settings(max_examples=40)
@given(st.sampled_from(RETAINS), st.lists(counts, min_size=3, max_size=3))
def test_in_any_order_the_sum_is_what_learned_everything_at_once(retain, tasks):
    data = [samples(one, seed) for seed, one in enumerate(tasks)]
    options = {"retain": retain, "ridge": 1e-3}
    parts = [taught([one], **options) for one in data]
    A, y = (np.concatenate(both) for both in zip(*data, strict=True))
    at_once = taught([(A, y)], **options)
    for order in itertools.permutations(parts):
        assert_same(together(order), at_once, 1e-8)
    a, b, c = parts
    assert_same_sums(merged(merged(a, b), c), merged(a, merged(b, c)))
    assert_same_sums(merged(a, b), merged(b, a))


@pytest.mark.parametrize("retain", RETAINS)
def test_a_ridge_that_is_chosen_is_that_of_all_data(retain):
    data = [samples({"a": 30, "b": 9}, 0), samples({"b": 5, "c": 40}, 1)]
    whole = taught(data, retain=retain)
    assert_same(together([taught([one], retain=retain) for one in data]), whole, 1e-8)


@pytest.mark.parametrize("retain", ["tasks", "classes"])
def test_a_merged_classifier_forgets_exactly(retain):
    data = [samples({"a": 30, "b": 9}, 0), samples({"c": 5, "d": 40}, 1)]
    both = together([taught([one], retain=retain) for one in data])
    tasks, classes = ([1], []) if retain == "tasks" else ([], ["c", "d"])
    assert_same(both.forget(tasks, classes, exact=True), taught(data[:1], retain=retain), 1e-8)


def test_parts_stay_as_they_were():
    a, b = (taught([samples({"a": n, "b": 30}, n)], retain="classes") for n in (3, 4))
    before = [trace.gram.copy() for part in (a, b) for trace in part.traces.values()]
    weights = a.omega.copy()
    together([a, b]).learn(lambda: [samples({"a": 30}, 9)])
    after = [trace.gram for part in (a, b) for trace in part.traces.values()]
    assert all(map(np.array_equal, before, after))
    np.testing.assert_array_equal(a.omega, weights)


def test_nothing_and_something_is_something():
    nothing = AnalyticClassifier(Rule(retain="classes"), SIZE, "cpu")
    some = taught([samples({"a": 9, "b": 30}, 0)], retain="classes")
    for parts in ([nothing, some], [some, nothing]):
        assert_same(together(parts), some, 1e-12)
    assert together([nothing, nothing]).omega.shape == (SIZE, 0)


@pytest.mark.parametrize("retain", RETAINS)
def test_renamed_classes_are_the_same_by_another_name(retain):
    data = samples({"a": 30, "b": 9}, 0)
    names = np.where(data[1] == "a", "z", data[1])
    found = renamed(taught([data], retain=retain), {"a": "z"})
    assert_same(found, taught([(data[0], names)], retain=retain), 1e-8)
    assert [task.classes for task in found.tasks] == [["b", "z"]]


@pytest.mark.parametrize(
    "options",
    [{"ridge": 1e-3}, {"retain": "tasks"}, {"precision": "float32"}, {"class_weight": {"a": 2}}],
    ids=str,
)
def test_different_rules_are_refused_by_name(options):
    a, b = (taught([samples({"a": 9, "b": 3}, 0)], **each) for each in ({}, options))
    for pair in ((a, b), (b, a)):
        with pytest.raises(ClsnetError, match=f"different {next(iter(options))}"):
            merged(*pair)


@pytest.mark.parametrize(
    "options",
    [{"curvature": "low-rank", "rank": 3}, {"curvature": "diagonal"}, {"gamma": 0.5}],
    ids=str,
)
def test_what_does_not_add_up_is_refused(options):
    a, b = (taught([samples({"a": 9, "b": 3}, seed)], **options) for seed in (0, 1))
    with pytest.raises(ClsnetError, match="cannot be merged exactly"):
        merged(a, b)


def test_text_and_numbers_are_not_mixed():
    A, y = samples({"a": 9, "b": 3}, 0)
    with pytest.raises(ClsnetError, match="are text, and those of others are numbers"):
        merged(taught([(A, y)]), taught([(A, (y == "a").astype(int))]))
