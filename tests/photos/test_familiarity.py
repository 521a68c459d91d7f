import numpy as np
import pytest

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.rule import Rule
from clsnet.photos.familiarity import class_sums, familiarity

RANDOM = np.random.default_rng(0)
A = RANDOM.normal(size=(60, 7))
LABELS = np.array(["cat", "dog", "bird"] * 20)


def taught(retain):
    blank = AnalyticClassifier(Rule(retain=retain), 7, "cpu")
    first, second = slice(0, 25), slice(25, 60)
    return blank.learn(lambda: [(A[first], LABELS[first])]).learn(
        lambda: [(A[second], LABELS[second])]
    )


@pytest.mark.parametrize("retain", ["total", "tasks", "classes"])
def test_a_class_is_the_sum_of_its_photos(retain):
    classifier = taught(retain)
    literal = [A[c == LABELS].sum(axis=0) for c in classifier.labels]
    np.testing.assert_allclose(class_sums(classifier).T, literal, rtol=1e-9, atol=1e-12)


def test_the_sums_of_a_class_do_not_know_a_forgotten_one():
    left = taught("classes").forget([], ["dog"], exact=True)
    before = taught("classes")
    columns = [before.labels.index(label) for label in left.labels]
    np.testing.assert_array_equal(class_sums(left), class_sums(before)[:, columns])


def test_a_photo_is_compared_with_the_class_that_it_is_taken_for():
    sums = np.array([[2.0, 0.0], [0.0, 3.0], [0.0, 4.0]])
    photos = np.array([[1.0, 1.0, 0.0], [0.0, 6.0, 8.0], [5.0, 0.0, 0.0]])
    fits = familiarity(photos, np.array([0, 1, 1]), sums)
    np.testing.assert_allclose(fits, [0.5**0.5, 1.0, 0.0])


def test_no_features_are_familiar_to_nothing():
    assert familiarity(np.zeros((1, 2)), np.array([0]), np.zeros((2, 1))).tolist() == [0.0]
