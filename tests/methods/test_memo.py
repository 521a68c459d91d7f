import numpy as np
import pytest
import torch

from clsnet.methods.memo import MEMO

SMALL = {"hidden": (32, 24), "epochs": 3, "batch_size": 20, "device": "cpu"}


def scaled(task):
    return task.X_train / np.float32(16), task.y_train


@pytest.fixture(scope="module")
def learned(tasks):
    model = MEMO(budget=60, **SMALL)
    trunks, shared = [], []
    for task in tasks[:3]:
        model.partial_fit(*scaled(task))
        trunks.append([weight.detach().clone() for weight in model.net.trunks[-1].parameters()])
        shared.append(model.net.body[0].weight.detach().clone())
    return model, trunks, shared


def test_deep_layers_of_old_tasks_do_not_change_and_shared_ones_do(learned):
    model, trunks, shared = learned
    for trunk, before in zip(model.net.trunks, trunks, strict=True):
        for weight, kept in zip(trunk.parameters(), before, strict=True):
            torch.testing.assert_close(weight.detach(), kept, rtol=0, atol=0)
    assert not torch.equal(shared[0], shared[1])
    assert not torch.equal(shared[1], shared[2])


def test_the_first_layer_is_shared_and_the_second_is_each_tasks_own(learned):
    model, *_ = learned
    numbers = 65 * 32 + 3 * 33 * 24 + (3 * 24 + 1) * 6
    assert model.memory().model_mb == 4 * numbers / 2**20


def test_the_head_has_no_weight_below_zero(learned):
    weight = learned[0].net.head.weight
    assert weight.min() == 0 < weight.max()


def test_rows_of_new_classes_get_the_mean_length_of_old_ones(tasks):
    found = []

    class Watched(MEMO):
        def balance(self):
            before = self.net.head.weight.detach().clone()
            super().balance()
            found.append((before, self.net.head.weight.detach().clone(), self.new.start))

    model = Watched(budget=40, **SMALL)
    for task in tasks[:2]:
        model.partial_fit(*scaled(task))
    ((before, after, old),) = found
    ratio = sum(row.norm() for row in before[:old]) / sum(row.norm() for row in before[old:])
    torch.testing.assert_close(after[:old], before[:old])
    torch.testing.assert_close(after[old:], before[old:] * ratio)
    torch.testing.assert_close(after[old:].norm(dim=1).mean(), before[:old].norm(dim=1).mean())


def test_a_perceptron_of_one_layer_and_tasks_without_new_classes_are_taken(vectors):
    model = MEMO(budget=40, **{**SMALL, "hidden": (16,)})
    for task in (*vectors[:2], vectors[0]):
        model.partial_fit(task.X_train / 16, task.y_train)
    assert len(model.net.trunks) == 3
    right = np.mean(model.predict(vectors[0].X_test / 16) == vectors[0].y_test)
    assert right > 0.8
