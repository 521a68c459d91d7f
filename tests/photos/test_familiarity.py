import numpy as np
import pytest

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.rule import Rule
from clsnet.photos.familiarity import familiarity, usual_scores

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
def test_usual_is_the_mean_score_of_all_samples_of_a_class(retain):
    classifier = taught(retain)
    scores = classifier.scores(A)
    literal = [scores[c == LABELS, i].mean() for i, c in enumerate(classifier.labels)]
    np.testing.assert_allclose(usual_scores(classifier), literal, rtol=1e-9)
    assert min(literal) > 0


@pytest.mark.parametrize("retain", ["total", "tasks", "classes"])
def test_a_weight_is_how_often_a_photo_was_seen(retain):
    A, y = np.random.default_rng(0).standard_normal((30, 8)), np.resize(["a", "b", "c"], 30)
    weights = np.resize([1, 2, 4, 1, 3], 30)
    again = np.repeat(np.arange(30), weights)
    blank = AnalyticClassifier(Rule(retain=retain, ridge=0.1), 8, "cpu")
    weighted = blank.learn(lambda: [(A, y, weights)])
    repeated = blank.learn(lambda: [(A[again], y[again])])
    np.testing.assert_allclose(usual_scores(weighted), usual_scores(repeated), rtol=1e-9)


def test_usual_scores_do_not_know_a_forgotten_class():
    left = taught("classes").forget([], ["dog"], exact=True)
    rest = LABELS != "dog"
    never = AnalyticClassifier(Rule(retain="classes"), 7, "cpu").learn(
        lambda: [(A[rest], LABELS[rest])]
    )
    order = [never.labels.index(label) for label in left.labels]
    np.testing.assert_allclose(usual_scores(left), usual_scores(never)[order], rtol=1e-9)


def test_a_photo_is_compared_with_the_class_that_it_is_taken_for():
    scores = np.array([[0.2, 0.6, 0.1], [0.4, 0.3, -1.0]])
    fits = familiarity(scores, np.array([0.8, 0.3, 0.01]))
    np.testing.assert_allclose(fits, [2.0, 0.5])
