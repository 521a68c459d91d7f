import numpy as np
import pytest

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.ridge.reference import ridge_regression
from clsnet.classifier.rule import Rule
from clsnet.errors import ClsnetError
from tests.literal import one_hot

SIZE = 40


def task(n, seed, labels):
    random = np.random.default_rng(seed)
    y = np.resize(list(labels), n)
    A = random.standard_normal((n, SIZE)) + 2 * np.eye(SIZE)[[ord(c) - ord("a") for c in y]]
    return A, y, random.uniform(0.5, 3, n)


def literal(tasks, classes, class_weight, ridge):
    A, y, weights = (np.concatenate(parts) for parts in zip(*tasks, strict=True))
    sizes = {c: weights[y == c].sum() for c in classes}
    if class_weight == "balanced":
        class_weight = {c: weights.sum() / len(sizes) / sizes[c] for c in classes}
    weights = weights * np.array([(class_weight or {}).get(c, 1.0) for c in y])
    scale = (weights[:, None] * A**2).sum(axis=0).mean()
    return ridge_regression(A, one_hot(y, classes), [ridge * scale], weights)[0][0]


@pytest.mark.parametrize("sizes", [(3, 2, 4), (9, 30, 2), (80, 3, 90)], ids=str)
@pytest.mark.parametrize("class_weight", [None, "balanced", {"a": 9.0, "c": 0.1}], ids=str)
def test_sums_per_class_are_weighted_when_weights_are_solved_for(
    sizes, class_weight, device, on, back
):
    labels = ("ab", "bc", "da")
    tasks = [task(n, seed, labels[seed]) for seed, n in enumerate(sizes)]
    rule = Rule(retain="classes", class_weight=class_weight, ridge=1e-3)
    classifier = AnalyticClassifier(rule, SIZE, device)
    for number, (A, y, weights) in enumerate(tasks, 1):
        classifier = classifier.learn(lambda A=A, y=y, w=weights: [(on(A), y, w)])
        wanted = literal(tasks[:number], classifier.labels, class_weight, 1e-3)
        np.testing.assert_allclose(back(classifier.omega), wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("retain", ["total", "tasks", "classes"])
def test_the_ridge_is_that_of_as_many_samples_as_the_weights_sum_up_to(retain, device, on, back):
    """And no fewer than there are."""
    A, y, weights = task(90, 0, "abc")
    found = {}
    for scale in (0.01, 1.0, 50.0):
        classifier = AnalyticClassifier(Rule(retain=retain), SIZE, device)
        batch = on(A), y, scale * weights / weights.mean()
        found[scale] = classifier.learn(lambda batch=batch: [batch])
    few, same, many = (back(found[scale].omega) for scale in found)
    np.testing.assert_allclose(few, same, rtol=1e-6, atol=1e-9)
    assert np.linalg.norm(many) > 1.01 * np.linalg.norm(same)  # more samples, a smaller ridge


def test_weights_of_classes_with_the_third_term_are_refused():
    with pytest.raises(ClsnetError, match="terms without 3"):
        Rule(retain="classes", class_weight="balanced", terms=(1, 2, 3))
    with pytest.raises(ClsnetError, match='use None, "balanced" or a dict'):
        Rule(class_weight="heavy")
