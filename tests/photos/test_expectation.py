import itertools
from collections import Counter
from dataclasses import asdict, replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.calibration import softmax
from clsnet.classifier.left_out import left_out_moments, left_out_scores
from clsnet.classifier.rule import Rule
from clsnet.errors import ClsnetError
from clsnet.photos.expectation import Expectation, expected

SIZE = 40
CENTRES = np.random.default_rng(1).normal(size=(6, SIZE))
NAMES = np.array(list("abcdef"))


def blobs(n, classes=range(6), spread=2.2, seed=0):
    random = np.random.default_rng(seed)
    own = np.repeat(list(classes), n)
    A = CENTRES[own] + spread * random.normal(size=(len(own), SIZE))
    return np.concatenate([A, np.ones((len(A), 1))], axis=1), NAMES[own]


def taught(*tasks, retain="classes"):
    classifier = AnalyticClassifier(Rule(retain=retain), tasks[0][0].shape[1], "cpu")
    for task in tasks:
        classifier = classifier.learn(lambda task=task: [task])
    return classifier


def digits(n):
    """Some digits of each kind to learn, and all the others."""
    A, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    A, y = A[order], y[order].astype(str)
    A = np.concatenate([A, np.full((len(A), 1), 16.0)], axis=1)
    mine = np.concatenate([np.flatnonzero(y == label)[:n] for label in np.unique(y)])
    rest = np.setdiff1d(np.arange(len(y)), mine)
    return A[mine], y[mine], A[rest], y[rest]


def test_left_out_scores_are_those_of_a_model_without_the_sample():
    A, y = blobs(12)
    whole = taught((A, y))
    ridge = whole.solution.ridge
    found = left_out_scores(whole, A, y)
    targets = (y[:, None] == np.array(whole.labels)).astype(float)
    for i in (0, 17, 71):
        rest = np.delete(np.arange(len(A)), i)
        gram = A[rest].T @ A[rest] + ridge * np.eye(SIZE + 1)
        literal = A[i] @ np.linalg.solve(gram, A[rest].T @ targets[rest])
        np.testing.assert_allclose(found[i], literal, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("n", [10, 100])  # fewer photos of a class than features, and more
def test_moments_are_near_those_of_left_out_scores(n):
    A, y = blobs(n)
    whole = taught((A, y))
    scores = left_out_scores(whole, A, y)
    moments = left_out_moments(whole, whole.labels)
    for label, (mean, covariance) in zip(whole.labels, moments, strict=True):
        own = scores[y == label]
        np.testing.assert_allclose(mean, own.mean(axis=0), atol=0.06)
        np.testing.assert_allclose(covariance, np.cov(own.T, bias=True), atol=0.04)


@pytest.mark.parametrize("n", [15, 40, 120])
def test_the_expected_accuracy_is_near_that_on_new_digits(n):
    A, y, B, z = digits(n)
    whole = taught((A, y))
    measured = (np.array(whole.labels)[whole.scores(B).argmax(axis=1)] == z).mean()
    share, low, high = expected(whole).accuracy(Counter(y.tolist()))
    assert low < share < high
    assert share == pytest.approx(measured, abs=0.03)


def test_all_classes_known_now_take_part_in_any_order():
    A, y, _, _ = digits(40)
    early = np.isin(y, list("01234"))
    one, other = (A[early], y[early]), (A[~early], y[~early])
    first, now, at_once = (
        expected(taught(*tasks)) for tasks in ([one], [one, other], [(A[::-1], y[::-1])])
    )
    counts = dict.fromkeys("01234", 40)
    assert now.accuracy(counts)[0] < first.accuracy(counts)[0] - 0.01
    assert now.right == pytest.approx(at_once.right, abs=1e-5)
    assert now.best == pytest.approx(at_once.best, abs=1e-5)


def test_a_forgotten_class_leaves_no_trace():
    one, other = blobs(30, range(3)), blobs(30, range(3, 6))
    forgot = taught(other, one).forget([], ["d", "e", "f"], exact=True)
    assert expected(forgot) == expected(taught(one))


def test_confusions_and_shares_add_up():
    found = expected(taught(blobs(60, spread=3)))
    for label, right in found.right.items():
        wrong = sum(share for was, _, share in found.confused if was == label)
        assert right + wrong <= 1 + 1e-6
    shares = [share for _, _, share in found.confused]
    assert shares == sorted(shares, reverse=True)
    assert len(found.best) == 100
    assert all(a <= b for a, b in itertools.pairwise(found.best))


def test_the_temperature_suits_new_samples():
    A, y, B, z = digits(60)
    whole = taught((A, y))
    scores, own = whole.scores(B), (z[:, None] == np.array(whole.labels))

    def loss(temperature):
        return -np.log(softmax(scores / temperature)[own]).mean()

    best = min(loss(t) for t in np.geomspace(0.01, 1, 50))
    assert loss(expected(whole).temperature) < 1.05 * best


def test_of_one_class_few_photos_or_sums_in_total_nothing_is_said():
    assert expected(taught(blobs(30, [0]))) is None
    assert expected(taught(blobs(4))) is None
    assert expected(taught(blobs(30), retain="total")) is None
    few = expected(taught(blobs(30, range(2)), blobs(2, [2])))
    assert set(few.right) == {"a", "b"}
    assert few.accuracy({}) is None


def test_photos_that_are_all_the_same_are_no_trouble():
    A = np.repeat(np.eye(SIZE + 1)[:2], 10, axis=0)
    found = expected(taught((A, np.repeat(["a", "b"], 10))))
    assert found.right == {"a": 1.0, "b": 1.0}


def test_crafted_sums_are_refused_in_one_line():
    """More of a class's sum of features than its sum of products allows."""
    whole = taught(blobs(30))
    trace = whole.traces["a"]
    trace.cross = 100 * trace.cross
    with pytest.raises(ClsnetError, match="its file is damaged"):
        expected(whole)


def test_it_survives_a_file():
    found = expected(taught(blobs(20)))
    assert Expectation.of(asdict(found)) == replace(found, confused=[*map(tuple, found.confused)])
