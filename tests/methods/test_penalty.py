"""What holds for EWC, SI and MAS alike."""

import numpy as np
import pytest
import torch

from clsnet.methods.common.penalty import summed_gradients
from clsnet.methods.ewc import EWC
from clsnet.methods.mas import MAS
from clsnet.methods.none import FineTuning
from clsnet.methods.si import SI

SMALL = {"hidden": (32, 32), "epochs": 2, "batch_size": 20, "device": "cpu"}


@pytest.fixture(params=[EWC, SI, MAS], ids=lambda method: method.__name__)
def method(request):
    return request.param


def learn(model, tasks):
    for task in tasks:
        model.partial_fit(task.X_train / 16, task.y_train)
    return model


def test_without_strength_it_is_fine_tuning(method, vectors):
    free = learn(method(strength=0.0, **SMALL), vectors[:2])
    plain = learn(FineTuning(**SMALL), vectors[:2])
    for name, weight in plain.net.named_parameters():
        torch.testing.assert_close(free.net.get_parameter(name), weight, rtol=0, atol=0)


def test_weights_that_move_after_the_first_task_are_penalised(method, vectors):
    model = learn(method(**SMALL), vectors[:1])
    assert model.penalty() == 0
    with torch.no_grad():
        for weight in model.net.parameters():
            weight += 0.1
    assert model.penalty() > 0


def test_a_stronger_penalty_keeps_important_weights_nearer(method, vectors):
    moved = []
    for strength in (0.0, 1e2, 1e6):
        model = learn(method(strength=strength, **SMALL), vectors[:1])
        importance = {name: tensor.clone() for name, tensor in model.importance.items()}
        centre = {name: tensor.clone() for name, tensor in model.centre.items()}
        learn(model, vectors[1:2])
        distance = 0.0
        for name, weight in model.net.named_parameters():
            n = len(centre[name])
            distance += (importance[name] * (weight[:n] - centre[name]) ** 2).sum().item()
        moved.append(distance)
    assert moved[0] > moved[1] > moved[2]
    assert moved[2] < 0.01 * moved[0]


def test_no_strength_makes_it_diverge(method, vectors):
    model = learn(method(strength=1e9, **SMALL), vectors[:3])
    assert all(bool(weight.isfinite().all()) for weight in model.net.parameters())


def test_outputs_of_new_classes_are_free(method, vectors):
    model = learn(method(strength=1e9, **SMALL), vectors[:1])
    old = model.net.head.weight.detach().clone()
    model.net.grow(4)
    with torch.no_grad():
        model.net.head.weight[2:] += 5
    assert model.penalty() == 0
    torch.testing.assert_close(model.net.head.weight[:2], old)
    learn(model, vectors[1:2])
    assert model.importance["head.weight"].shape == (4, 32)


def test_the_step_is_the_fixed_point_of_loss_and_penalty(method, vectors):
    """One implicit step solves w = v - rate * (gradient of the penalty at w)."""
    model = learn(method(strength=3.0, **SMALL), vectors[:1])
    start = {name: w.detach() + 0.3 for name, w in model.net.named_parameters()}
    model.net.load_state_dict(start)
    super(type(model), model).after_step()
    for name, weight in model.net.named_parameters():
        pull = 2 * model.factor * 3.0 * model.importance[name] * (weight - model.centre[name])
        torch.testing.assert_close(weight, start[name] - 0.1 * pull, rtol=1e-4, atol=1e-6)


def test_importance_and_centre_of_every_weight_are_counted(method, vectors):
    model = learn(method(**SMALL), vectors[:3])
    weights = 65 * 32 + 33 * 32 + 33 * 6
    assert model.memory().model_mb == 3 * 4 * weights / 2**20
    assert model.memory().exemplar_mb == 0


def test_the_same_seed_gives_the_same_network(method, vectors):
    one, two = (learn(method(seed=3, **SMALL), vectors[:2]) for _ in range(2))
    np.testing.assert_array_equal(one.predict(vectors[0].X_test), two.predict(vectors[0].X_test))
    torch.testing.assert_close(one.centre, two.centre, rtol=0, atol=0)


def test_sums_over_samples_equal_a_loop(vectors):
    model = learn(FineTuning(**SMALL), vectors[:1])
    x = model.as_input(vectors[0].X_train[:7] / 16)
    fast = summed_gradients(model.net, x, lambda scores: scores.pow(3).sum(), torch.abs)
    for name, weight in model.net.named_parameters():
        slow = torch.zeros_like(weight)
        for sample in x:
            value = model.net(sample[None]).pow(3).sum()
            slow += torch.autograd.grad(value, weight)[0].abs()
        torch.testing.assert_close(fast[name], slow, rtol=1e-4, atol=1e-6)


def test_the_loss_over_own_outputs_leaves_other_classes_out(method, vectors):
    model = learn(method(own_outputs=True, **SMALL), vectors[:2])
    model.own = torch.tensor([1, 2])  # a class that comes again, and a new one
    x = model.as_input(vectors[1].X_train[:3] / 16)
    scores = model.net(x).detach()
    expected = 0.0
    for row, code in zip(scores, (1, 2, 2), strict=True):
        mine = [row[1].item(), row[2].item()]
        expected -= mine[code - 1] - np.log(np.exp(mine).sum())
    loss = model.loss(x, torch.tensor([1, 2, 2]))
    assert loss.item() == pytest.approx(expected / 3, rel=1e-5)


def test_over_own_outputs_no_task_changes_the_outputs_of_others(method, vectors):
    model = learn(method(own_outputs=True, strength=0.0, **SMALL), vectors[:1])
    before = model.net.head.weight.detach().clone()
    learn(model, vectors[1:2])
    torch.testing.assert_close(model.net.head.weight[:2], before, rtol=0, atol=0)
    assert "own" not in vars(model)


def test_importance_is_that_for_own_outputs(vectors):
    for method, name in ((EWC, "fisher"), (MAS, "sensitivity")):
        model = learn(method(own_outputs=True, **SMALL), vectors[:2])
        model.own = torch.tensor([2, 3])
        importance = getattr(model, name)(model.as_input(vectors[1].X_train / 16))
        assert (importance["head.weight"][2:] > 0).any()
        assert (importance["head.weight"][:2] == 0).all()


def test_over_own_outputs_old_classes_are_still_predicted(method, vectors):
    """Where a softmax over all classes forgets them at once; prediction is among all."""
    options = {**SMALL, "hidden": (100,), "epochs": 10, "strength": 1.0}
    right = {}
    for own in (False, True):
        model = learn(method(own_outputs=own, **options), vectors)
        right[own] = np.mean(
            [np.mean(model.predict(task.X_test / 16) == task.y_test) for task in vectors]
        )
    assert right[True] > right[False] + 0.1
