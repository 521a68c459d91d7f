import copy

import numpy as np
import pytest
import torch

from clsnet.errors import ClsnetError
from clsnet.methods.ari import ARI, METHOD

SMALL = {"hidden": (8,), "epochs": 1, "batch_size": 30, "budget": 40, "device": "cpu"}


class Descending(ARI):
    """Plain gradient descent, which a literal version can follow."""

    def optimiser(self):
        return torch.optim.SGD(self.net.parameters(), lr=self.learning_rate)


@pytest.fixture
def learned(tasks):
    def learn(n_tasks=2, kind=Descending, **options):
        model = kind(**{**SMALL, "learning_rate": 0.5, **options})
        for task in tasks[:n_tasks]:
            model.partial_fit(task.X_train / np.float32(16), task.y_train)
        model.task -= 1  # as while the last task is learned
        return model

    return learn


def batch_of(model, tasks, n_tasks=2, size=15):
    parts = [
        (task.X_train[:size] / np.float32(16), task.y_train[:size]) for task in tasks[:n_tasks]
    ]
    x = torch.cat([model.as_input(X) for X, _ in parts])
    y = torch.tensor([model.labels.index(label) for _, labels in parts for label in labels])
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(5))
    return x[order], y[order]


def descended(network, x, y, columns, rate):
    """One step, with the loss written out and one weight array after another."""
    network = copy.deepcopy(network)
    chance = torch.sigmoid(network(x))
    right = torch.stack([(y == code).float() for code in range(chance.shape[1])], dim=1)
    entropy = -(right * chance.log() + (1 - right) * (1 - chance).log())
    loss = entropy[:, columns].mean()
    weights = list(network.parameters())
    for weight, slope in zip(weights, torch.autograd.grad(loss, weights), strict=True):
        weight.data -= rate * slope
    return network


def arrays(network):
    return [weight.detach().clone() for weight in network.parameters()]


def test_without_attack_and_with_equal_weights_it_is_the_update_of_itaml(learned, tasks):
    model = learned(attack=0, by_distance=False, own_outputs=True, beta=0.7)
    x, y = batch_of(model, tasks)
    copies = []
    for columns in ([0, 1], [2, 3]):
        rows = [i for i, code in enumerate(y.tolist()) if code in columns]
        copies.append(arrays(descended(model.net, x[rows], y[rows], columns, rate=0.5)))
    share = np.exp(-0.7)
    old = arrays(model.net)
    expected = [share * (a + b) / 2 + (1 - share) * c for a, b, c in zip(*copies, old, strict=True)]
    model.update(x, y, model.optimiser())
    for found, wanted, before in zip(model.net.parameters(), expected, old, strict=True):
        torch.testing.assert_close(found.detach(), wanted, atol=1e-6, rtol=1e-5)
        assert not torch.equal(wanted, before)


def test_copies_weigh_by_the_distance_they_moved(learned, tasks):
    model = learned(attack=0, beta=0.0)
    x, y = batch_of(model, tasks)
    old, copies = arrays(model.net), []
    for codes in ([0, 1], [2, 3]):
        rows = [i for i, code in enumerate(y.tolist()) if code in codes]
        copies.append(arrays(descended(model.net, x[rows], y[rows], [0, 1, 2, 3], rate=0.5)))
    model.update(x, y, model.optimiser())
    for found, before, one, two in zip(model.net.parameters(), old, *copies, strict=True):
        a, b = ((each - before).abs().sum() ** 2 + 0.85 for each in (one, two))
        wanted = (a * one + b * two) / (a + b)
        torch.testing.assert_close(found.detach(), wanted, atol=1e-6, rtol=1e-5)


def test_the_first_task_keeps_nothing_of_the_old_weights(learned, tasks):
    model = learned(n_tasks=1, attack=0, beta=5.0)
    x, y = batch_of(model, tasks, n_tasks=1)
    expected = arrays(descended(model.net, x, y, [0, 1], rate=0.5))
    model.update(x, y, model.optimiser())
    for found, wanted in zip(model.net.parameters(), expected, strict=True):
        torch.testing.assert_close(found.detach(), wanted, atol=1e-6, rtol=1e-5)


def test_an_attack_raises_the_loss_within_its_bounds(learned, tasks):
    model = learned(attack=0.1)
    x, y = batch_of(model, tasks)
    attacked = model.attacked(x, y, slice(None))
    assert float((attacked - x).abs().max()) <= 0.1 + 1e-6
    assert float(attacked.min()) >= float(x.min()) and float(attacked.max()) <= float(x.max())
    before, after = (model.task_loss(each, y, slice(None)).item() for each in (x, attacked))
    assert after > before


def test_the_second_step_is_on_attacked_samples(learned, tasks):
    model = learned(n_tasks=1, attack=0.2)
    x, y = batch_of(model, tasks, n_tasks=1)
    first = descended(model.net, x, y, [0, 1], rate=0.5)
    watched = copy.deepcopy(model)
    watched.net = first
    attacked = watched.attacked(x, y, slice(None))
    expected = arrays(descended(first, attacked, y, [0, 1], rate=0.5))
    model.update(x, y, model.optimiser())
    for found, wanted in zip(model.net.parameters(), expected, strict=True):
        torch.testing.assert_close(found.detach(), wanted, atol=1e-6, rtol=1e-5)


def test_a_class_that_comes_again_stays_with_its_first_task(tasks):
    model = ARI(**SMALL)
    both = [(tasks[0].X_train, tasks[0].y_train), (tasks[1].X_train, tasks[1].y_train)]
    for X, y in (*both, both[0]):
        model.partial_fit(X / np.float32(16), y)
    assert model.first_task == [0, 0, 1, 1]
    parts = {task: rows.tolist() for task, rows in model.by_task(torch.tensor([3, 0, 2]))}
    assert parts == {0: [1], 1: [0, 2]}


def test_exemplars_are_the_first_of_each_class_and_counted(tasks):
    model = ARI(**SMALL)
    for task in tasks[:2]:
        model.partial_fit(task.X_train / np.float32(16), task.y_train)
    for code, label in enumerate(model.labels):
        task = tasks[code // 2]
        wanted = task.X_train[task.y_train == label][:10] / np.float32(16)
        found = model.exemplars.X[model.exemplars.y == code]
        np.testing.assert_allclose(found.numpy(), wanted.reshape(10, -1), rtol=1e-6)
    parameters = 64 * 8 + 8 + 8 * 4 + 4
    assert model.memory().model_mb == 4 * parameters / 2**20
    assert model.memory().exemplar_mb == 4 * 40 * 64 / 2**20


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"attack": -1}, "attack=-1: use a number of 0 or more."),
        ({"beta": "x"}, "beta='x' is not a number."),
        ({"own_outputs": 1}, "own_outputs=1 is not True or False."),
    ],
)
def test_bad_options_are_one_line(options, reason):
    with pytest.raises(ClsnetError, match="^" + reason.replace(".", r"\.") + "$"):
        METHOD.build(0, device="cpu", **options).check_parameters()
