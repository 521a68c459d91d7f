import numpy as np
import pytest
import torch
from torch import nn

from clsnet.errors import ClsnetError
from clsnet.methods.fs_dgpm import FSDGPM, METHOD, principal_directions

SMALL = {"hidden": (32, 32), "batch_size": 20, "epochs": 2, "budget": 60, "device": "cpu"}


def learned(tasks, **options):
    model = FSDGPM(**{**SMALL, **options})
    for task in tasks:
        model.partial_fit(task.X_train / np.float32(16), task.y_train)
    return model


@pytest.fixture(scope="module")
def model(tasks):
    return learned(tasks[:2])


def test_bases_hold_the_share_of_the_energy_and_no_more_than_needed():
    random = torch.Generator().manual_seed(0)
    inputs = torch.randn(40, 12, generator=random) * torch.arange(12.0, 0, -1) ** 2
    for share in (0.5, 0.9, 0.99):
        bases = principal_directions(inputs, share)
        energy = (inputs @ bases).square().sum(dim=0) / inputs.square().sum()
        assert energy.sum() >= share - 1e-6
        assert energy[:-1].sum() < share
        torch.testing.assert_close(bases.T @ bases, torch.eye(bases.shape[1]), atol=1e-5, rtol=0)


def test_bases_are_those_of_what_enters_each_layer(model):
    x = model.exemplars.X  # 60 of them: all are taken
    first, second = model.net.body[0], model.net.body[2]
    inputs = [x, first(x).relu(), second(first(x).relu()).relu()]
    for bases, entering in zip(model.bases, inputs, strict=True):
        outside = entering - entering @ bases @ bases.T
        assert outside.square().sum() <= 0.0101 * entering.square().sum()
        assert 1 < bases.shape[1] < bases.shape[0]


def literal_step(model, x, y, both, codes):
    """The gradients of one step and the weights of the bases after it, layer by layer."""
    layers = [
        (layer.weight.detach().clone(), layer.bias.detach().clone()) for layer in model.net.layers()
    ]

    def forward(weights, x):
        for place, (weight, (_, bias)) in enumerate(zip(weights, layers, strict=True)):
            x = x @ weight.T + bias
            x = x.relu() if place < 2 else x
        return x

    weights = [weight.clone() for weight, _ in layers]
    lambdas = [each.detach().clone() for each in model.weights]
    total, slopes, risen = [0, 0, 0], [0, 0, 0], [0, 0, 0]
    for half in (slice(0, 10), slice(10, 20)):
        leaves = [weight.clone().requires_grad_() for weight in weights]
        nn.functional.cross_entropy(forward(leaves, x[half]), y[half]).backward()
        for i, leaf in enumerate(leaves):
            amounts = leaf.grad @ model.bases[i]  # along each basis
            risen[i] = risen[i] + model.rise * amounts
            weights[i] = weights[i] + model.rise * amounts * lambdas[i] @ model.bases[i].T
        leaves = [weight.clone().requires_grad_() for weight in weights]
        nn.functional.cross_entropy(forward(leaves, both), codes).backward()
        for i, leaf in enumerate(leaves):
            total[i] = total[i] + leaf.grad / 2
            slopes[i] = slopes[i] + (leaf.grad @ model.bases[i] * risen[i]).sum(dim=0) / 2
    for i, (bases, slope) in enumerate(zip(model.bases, slopes, strict=True)):
        number = lambdas[i].logit() / 10
        number = number - model.weight_rate * slope * 10 * lambdas[i] * (1 - lambdas[i])
        lambdas[i] = (10 * number).sigmoid()
        total[i] = total[i] - total[i] @ bases @ lambdas[i].diag() @ bases.T
    return total, lambdas


def test_a_step_is_the_literal_one(tasks):
    model = learned(tasks[:2], rise=0.5, weight_rate=20.0)
    x = model.as_input(tasks[1].X_train[:20] / np.float32(16))
    y = torch.tensor([model.labels.index(label) for label in tasks[1].y_train[:20].tolist()])
    state = model.random.get_state()
    both, codes = model.with_exemplars(x, y)
    assert len(codes) == 40
    model.random.set_state(state)
    expected, lambdas = literal_step(model, x, y, both, codes)
    model.loss(x, y).backward()
    model.before_step()
    for layer, gradient in zip(model.net.layers(), expected, strict=True):
        torch.testing.assert_close(layer.weight.grad, gradient, rtol=1e-3, atol=1e-6)
    for found, each in zip(model.weights, lambdas, strict=True):
        torch.testing.assert_close(found.detach(), each, rtol=1e-4, atol=1e-5)
        assert found.detach().std() > 1e-4


def test_weights_of_one_hold_every_answer_within_the_bases(tasks):
    """Gradient projection memory."""
    model = learned(tasks[:2], weight=1.0, rise=0.0, share=0.9)
    bases, before = model.bases, [layer.weight.detach().clone() for layer in model.net.layers()]
    model.partial_fit(tasks[2].X_train / np.float32(16), tasks[2].y_train)
    for place, layer in enumerate(model.net.layers()):
        change = layer.weight.detach()[: len(before[place])] - before[place]
        assert (change @ bases[place]).abs().max() < 1e-5
        assert change.abs().max() > 1e-3


def test_without_rise_the_loss_is_that_of_the_batch_and_the_exemplars(tasks):
    model = learned(tasks[:2], rise=0.0)
    x = model.as_input(tasks[1].X_train[:20] / np.float32(16))
    y = torch.full((20,), 2)
    state = model.random.get_state()
    found = model.loss(x, y)
    model.random.set_state(state)
    both, codes = model.with_exemplars(x, y)
    torch.testing.assert_close(found, nn.functional.cross_entropy(model.net(both), codes))


def test_weights_of_bases_differ_after_a_task(tasks):
    class Watched(FSDGPM):
        def before_step(self):
            super().before_step()
            self.last = [each.detach().clone() for each in self.weights]

    model = Watched(**SMALL, weight_rate=10.0)
    for task in tasks[:2]:
        model.partial_fit(task.X_train / np.float32(16), task.y_train)
    for weights in model.last:
        assert weights.min() >= 0 and weights.max() <= 1
        assert weights.std() > 1e-5


def test_memory_counts_bases_and_their_weights(model):
    parameters = 64 * 32 + 32 + 32 * 32 + 32 + 32 * 4 + 4
    bases = sum(each.numel() + each.shape[1] for each in model.bases)
    assert model.memory().model_mb == 4 * (parameters + bases) / 2**20
    assert model.memory().exemplar_mb == 4 * 60 * 64 / 2**20
    assert all(weight.grad is None for weight in model.weights)


def test_one_sample_per_class_and_a_known_class_again():
    random = np.random.RandomState(0)
    model = FSDGPM(hidden=(8,), epochs=2, budget=3, device="cpu")
    for labels in ([0], [1, 2], [0, 2]):
        model.partial_fit(random.normal(size=(len(labels), 5)), np.array(labels))
    assert set(model.predict(random.normal(size=(20, 5))).tolist()) <= {0, 1, 2}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"share": 1.5}, "share=1.5: use a number from 0 to 1."),
        ({"weight": -0.1}, "weight=-0.1: use a number from 0 to 1."),
        ({"rise": "a"}, "rise='a' is not a number."),
    ],
)
def test_bad_options_are_refused(tasks, options, reason):
    with pytest.raises(ClsnetError) as caught:
        FSDGPM(**options).partial_fit(tasks[0].X_train, tasks[0].y_train)
    assert str(caught.value) == reason


def test_method_builds_with_the_papers_budget():
    model = METHOD.build(3, None, device="cpu")
    assert (model.seed, model.budget, METHOD.paper) == (3, 2000, "FS-DGPM")
