import numpy as np
import torch

from clsnet.methods.joint import Joint
from clsnet.methods.none import FineTuning

SMALL = {"hidden": (32, 32), "epochs": 3, "batch_size": 20, "device": "cpu"}


def test_fine_tuning_knows_the_last_task_only(vectors):
    model = FineTuning(**SMALL)
    for task in vectors:
        model.partial_fit(task.X_train / 16, task.y_train)
    right = [np.mean(model.predict(task.X_test / 16) == task.y_test) for task in vectors]
    assert right[-1] > 0.95
    assert max(right[:-1]) < 0.1


def test_fine_tuning_keeps_its_network_and_nothing_else(vectors):
    model = FineTuning(**SMALL).partial_fit(vectors[0].X_train / 16, vectors[0].y_train)
    weights = 65 * 32 + 33 * 32 + 33 * 2
    assert model.memory().model_mb == 4 * weights / 2**20
    assert model.memory().exemplar_mb == 0


def test_joint_training_knows_all_tasks(vectors):
    model = Joint(**{**SMALL, "epochs": 8})
    for task in vectors[:3]:
        model.partial_fit(task.X_train / 16, task.y_train)
    right = [np.mean(model.predict(task.X_test / 16) == task.y_test) for task in vectors[:3]]
    assert min(right) > 0.9


def test_joint_training_starts_from_new_weights_at_every_task(vectors):
    model = Joint(**SMALL, learning_rate=1e-12)
    model.partial_fit(vectors[0].X_train / 16, vectors[0].y_train)
    before = model.net.body[0].weight.clone()
    model.partial_fit(vectors[1].X_train / 16, vectors[1].y_train)
    assert not torch.allclose(model.net.body[0].weight, before, atol=1e-3)


def test_the_rate_of_joint_training_falls_to_almost_nothing():
    model = Joint(epochs=10, learning_rate=0.2, device="cpu")
    rates = [model.learning_rate * model.schedule(epoch) for epoch in range(10)]
    assert rates[0] == 0.2
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < 0.01


def test_every_sample_that_joint_training_keeps_is_an_exemplar(vectors):
    model = Joint(**SMALL)
    for task in vectors[:2]:
        model.partial_fit(task.X_train / 16, task.y_train)
    n_samples = len(vectors[0].y_train) + len(vectors[1].y_train)
    assert model.memory().exemplar_mb == 4 * 64 * n_samples / 2**20
