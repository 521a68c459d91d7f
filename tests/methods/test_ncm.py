import numpy as np
import pytest

from clsnet import CLSNet
from clsnet.methods.ncm import METHOD, NCM


@pytest.fixture(scope="module")
def model(tasks):
    model = NCM(device="cpu")
    for task in tasks[:3]:
        model.partial_fit(task.X_train, task.y_train)
    return model


def test_answers_with_the_nearest_mean(model, tasks):
    transform = model.extractor_.transform
    means = {
        label: transform(task.X_train[task.y_train == label]).astype(float).mean(axis=0)
        for task in tasks[:3]
        for label in task.classes
    }
    for task in tasks[:3]:
        samples = transform(task.X_test).astype(float)
        expected = [min(means, key=lambda c, x=x: ((x - means[c]) ** 2).sum()) for x in samples]
        np.testing.assert_array_equal(model.predict(task.X_test), expected)


def test_features_are_those_of_our_own_model(model, tasks):
    ours = CLSNet(preset="fast", random_state=0).partial_fit(tasks[0].X_train, tasks[0].y_train)
    np.testing.assert_array_equal(
        model.extractor_.transform(tasks[1].X_test), ours.transform(tasks[1].X_test)
    )


def test_a_twin_shares_the_extractor_and_nothing_else(model, tasks):
    twin = model.twin().partial_fit(tasks[3].X_train, tasks[3].y_train)
    assert twin.extractor_ is model.extractor_
    assert sorted(twin.labels) == sorted(tasks[3].classes)
    assert len(model.labels) == 6


def test_memory_is_extractor_sums_and_counts(model):
    extractor = sum(value.size for value in model.extractor_.state().values())
    numbers = extractor + 6 * model.extractor_.dimension + 6
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 0


def test_method_hands_over_seed_and_preset():
    model = METHOD.build(3, "small", device="cpu")
    assert (model.seed, model.preset) == (3, "small")
