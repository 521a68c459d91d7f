import numpy as np
import pytest

from clsnet import CLSNet
from clsnet.extractor import Patches


def test_the_default_method_learns_digits_task_after_task(golden):
    assert golden.run["avg_acc"] >= 0.985
    assert golden.run["protocol"] == "agnostic"
    assert golden.run["order"] == [[4, 9], [8, 7], [5, 3], [0, 1], [2, 6]]


PINNED = [
    [1.0],
    [1.0, 1.0],
    [1.0, 1.0, 73 / 74],
    [1.0, 1.0, 73 / 74, 1.0],
    [1.0, 70 / 71, 1.0, 1.0, 1.0],
]


def test_the_matrix_is_the_pinned_one(golden):
    for row, pinned in zip(golden.run["R"], PINNED, strict=True):
        np.testing.assert_allclose(row, pinned, atol=0.01)
    np.testing.assert_allclose(golden.run["independent"], 1.0, atol=0.01)
    assert abs(golden.run["bwt"]) <= 0.01


@pytest.fixture(scope="module")
def after_every_order(digits):
    """Models that learned Digits in three orders of classes, the last one all in one task."""
    data = digits.dataset
    models = []
    for index in (0, 1):
        model = CLSNet(backbone=Patches(filters=12), connection="Z", random_state=0)
        for task in digits.tasks(digits.order(0, index)):
            model.partial_fit(task.X_train, task.y_train)
        models.append(model)
    whole = CLSNet(backbone=Patches(filters=12), connection="Z", random_state=0)
    return [*models, whole.partial_fit(data.X_train, data.y_train)]


def test_the_order_of_tasks_does_not_matter(after_every_order, digits):
    X, y = digits.dataset.X_test, digits.dataset.y_test
    one, *others = after_every_order
    assert one.score(X, y) >= 0.985
    answers = one.predict(X)
    for other in others:
        assert other.classes_.tolist() != one.classes_.tolist()
        np.testing.assert_array_equal(other.predict(X), answers)


def test_the_order_of_tasks_does_not_matter_to_the_probabilities(after_every_order, digits):
    X = digits.dataset.X_test
    one, *others = (
        model.predict_proba(X)[:, np.argsort(model.classes_)] for model in after_every_order
    )
    for other in others:
        np.testing.assert_allclose(other, one, atol=1e-6)
