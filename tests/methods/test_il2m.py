import numpy as np
import pytest
import torch

from clsnet.methods.common.trainer import Trainer
from clsnet.methods.il2m import IL2M, METHOD


class Watched(IL2M):
    """Keeps what the statistics were taken from."""

    def end_task(self, X, y):
        x, codes = self.start_task(X, y)
        outputs = Trainer.scores(self, x).double().numpy()
        self.seen = [*self.__dict__.get("seen", []), (outputs, codes.numpy(), self.new)]
        super().end_task(X, y)


@pytest.fixture(scope="module")
def model(tasks):
    small = {"hidden": (32, 32), "epochs": 5, "batch_size": 20, "device": "cpu"}
    model = Watched(budget=60, learning_rate=0.1, **small)
    for task in tasks[:3]:
        model.partial_fit(task.X_train / np.float32(16), task.y_train)
    return model


def literal_factors(seen):
    """mean when new / mean now * confidence now / confidence when new, class by class."""
    mean_when_new, confidence_when_new, factors = {}, {}, []
    for outputs, codes, new in seen:
        confidences = [max(row) for row, c in zip(outputs, codes, strict=True) if c >= new.start]
        now = sum(confidences) / len(confidences)
        mean = {}
        for c in range(new.stop):
            own = [row[c] for row, code in zip(outputs, codes, strict=True) if code == c]
            mean[c] = sum(own) / len(own)
            if c >= new.start:
                mean_when_new[c], confidence_when_new[c] = mean[c], now
        factors = [
            mean_when_new[c] / mean[c] * now / confidence_when_new[c] for c in range(new.stop)
        ]
    return factors


def test_factors_follow_the_formula(model):
    np.testing.assert_allclose(model.factors.numpy(), literal_factors(model.seen), rtol=1e-4)
    np.testing.assert_allclose(model.factors[model.new].numpy(), 1, rtol=1e-6)
    assert (model.factors[:4] - 1).abs().min() > 1e-3


def test_old_scores_are_rescaled_only_where_a_new_class_is_on_top(model, tasks):
    x = model.as_input(np.concatenate([task.X_test for task in tasks[:3]]) / np.float32(16))
    plain, rescaled = Trainer.scores(model, x).numpy(), model.scores(x).numpy()
    expected = plain.copy()
    for row in expected:
        if row.argmax() >= 4:
            for old in range(4):
                row[old] *= model.factors[old]
    np.testing.assert_allclose(rescaled, expected, rtol=1e-5)
    assert (plain.argmax(axis=1) >= 4).any()
    assert (plain.argmax(axis=1) < 4).any()


def test_training_takes_in_every_exemplar(model):
    # 60 exemplars of 4 old classes are beside the task's own samples
    _, codes, new = model.seen[-1]
    assert np.bincount(codes)[: new.start].tolist() == [15] * 4


@pytest.mark.parametrize("budget", [0, 4])
def test_classes_without_exemplars_are_rescaled_by_confidence_alone(budget, tasks):
    small = {"hidden": (32,), "epochs": 3, "batch_size": 20, "device": "cpu"}
    model = IL2M(budget=budget, **small)
    for task in tasks[:3]:  # 4 exemplars are less than one for each of 6 classes
        model.partial_fit(task.X_train / np.float32(16), task.y_train)
    model.partial_fit(tasks[3].X_train / np.float32(16), tasks[3].y_train)
    confidence = model.confidence_when_new
    np.testing.assert_allclose(model.factors[:6], confidence[-1] / confidence[:6], rtol=1e-5)
    assert len(set(model.predict(tasks[3].X_test / np.float32(16)).tolist())) > 1


def test_memory_is_the_budget_and_three_numbers_per_class(model):
    parameters = 64 * 32 + 32 + 32 * 32 + 32 + 32 * 6 + 6
    assert torch.bincount(model.exemplars.y).tolist() == [10] * 6
    assert model.memory().model_mb == 4 * (parameters + 3 * 6) / 2**20
    assert model.memory().exemplar_mb == 4 * 60 * 64 / 2**20


def test_it_trains_as_its_release_does(tasks):
    """Momentum, weight decay, a rate over the number of the task that falls by tens."""
    optimisers = []

    class Training(IL2M):
        def optimiser(self):
            optimisers.append(super().optimiser())
            return optimisers[-1]

    model = Training(hidden=(8,), epochs=4, budget=50, device="cpu")
    assert [model.schedule(epoch) for epoch in range(4)] == [1.0, 1.0, 0.1, 0.01]
    for task in tasks[:3]:
        model.partial_fit(task.X_train, task.y_train)
    [*groups] = (one.param_groups[0] for one in optimisers)
    assert {(group["momentum"], group["weight_decay"]) for group in groups} == {(0.9, 1e-4)}
    last = [group["lr"] for group in groups]
    assert last == pytest.approx([0.01 * 0.05 / number for number in (1, 2, 3)])


def test_exemplars_are_there_after_the_first_task(tasks):
    model = IL2M(hidden=(8,), epochs=1, budget=50, device="cpu")
    model.partial_fit(tasks[0].X_train, tasks[0].y_train)
    assert torch.bincount(model.exemplars.y).tolist() == [25, 25]
    assert model.factors.tolist() == pytest.approx([1, 1])


def test_a_task_without_new_classes_leaves_the_first_statistics(tasks):
    model = IL2M(hidden=(8,), epochs=1, budget=50, device="cpu")
    model.partial_fit(tasks[0].X_train, tasks[0].y_train)
    before = model.mean_when_new.clone()
    model.partial_fit(tasks[0].X_train, tasks[0].y_train)
    assert torch.equal(model.mean_when_new, before)
    assert set(model.predict(tasks[0].X_test)) <= set(tasks[0].classes)


def test_method_builds_with_the_papers_budget():
    model = METHOD.build(3, None, device="cpu")
    assert (model.seed, model.budget, METHOD.paper) == (3, 2000, "IL2M")
