import math

import numpy as np
import pytest
import torch

from clsnet.errors import ClsnetError
from clsnet.methods import check_options
from clsnet.methods.bir import METHOD, BiR
from clsnet.methods.rtf import RtF

SMALL = {"hidden": (24, 16), "latent": 5, "epochs": 3, "batch_size": 20, "device": "cpu"}


def learned(tasks, kind=BiR, divisor=16, **options):
    model = kind(**{**SMALL, **options})
    for task in tasks:
        model.partial_fit(np.asarray(task.X_train) / np.float32(divisor), task.y_train)
    return model


@pytest.fixture(scope="module")
def model(tasks):
    return learned(tasks[:3])


@pytest.mark.parametrize("divisor", [16, 4], ids=["pixels", "squared error"])
def test_without_gates_and_mixture_it_is_replay_through_feedback_bit_by_bit(tasks, divisor):
    plain = learned(tasks[:3], RtF, divisor).net.state_dict()
    off = learned(tasks[:3], BiR, divisor, mixture=False, gated=0).net.state_dict()
    assert plain.keys() == off.keys()
    assert all(torch.equal(plain[name], off[name]) for name in plain)


@pytest.mark.parametrize("options", [{"mixture": False}, {"gated": 0.0}])
def test_either_part_alone_makes_another_network(tasks, options):
    plain, one = learned(tasks[:2], RtF), learned(tasks[:2], **options)
    assert not torch.equal(plain.net.head.weight, one.net.head.weight)


def literal_divergence(z, mean, log_variance, means, log_variances, labels):
    """log q(z) - log of the labels' mixture, both densities written out."""

    def density(m, v):
        factors = [
            math.exp(-((a - b) ** 2) / (2 * math.exp(c))) / math.sqrt(2 * math.pi * math.exp(c))
            for a, b, c in zip(z, m, v, strict=True)
        ]
        return math.prod(factors)

    prior = sum(
        weight * density(m, v) for weight, m, v in zip(labels, means, log_variances, strict=True)
    )
    return math.log(density(mean, log_variance)) - math.log(prior)


def test_divergence_is_that_from_the_mixture_weighted_by_the_labels(model):
    random = torch.Generator().manual_seed(0)
    z, mean, log_variance = (torch.randn(4, 5, generator=random) for _ in range(3))
    labels = torch.rand(4, 6, generator=random)
    labels[:, 1] = 0
    labels[0] = torch.eye(6)[2]  # a label that is certain
    labels /= labels.sum(dim=1, keepdim=True)
    found = model.divergence(z, mean, log_variance, labels).tolist()
    modes = model.net.mode_means.tolist(), model.net.mode_log_variances.tolist()
    for i in range(4):
        one = (z[i].tolist(), mean[i].tolist(), log_variance[i].tolist())
        expected = literal_divergence(*one, *modes, labels[i].tolist())
        assert found[i] == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_a_certain_label_far_from_the_others_modes_gives_a_finite_gradient(model):
    z = torch.full((1, 5), 60.0, requires_grad=True)
    label = torch.eye(6)[:1]
    divergence = model.divergence(z, z * 1.0, torch.zeros(1, 5), label)
    divergence.sum().backward()
    assert torch.isfinite(divergence).all() and torch.isfinite(z.grad).all()
    model.net.zero_grad(set_to_none=True)


def test_a_class_switches_off_its_share_of_decoder_units_for_good(tasks):
    model = learned(tasks[:1], hidden=(400, 300), gated=0.8)
    before = [mask.clone() for mask in model.masks]
    assert [mask.shape for mask in before] == [(2, 300), (2, 400)]
    model.partial_fit(tasks[1].X_train / np.float32(16), tasks[1].y_train)
    for mask, old in zip(model.masks, before, strict=True):
        assert set(mask.unique().tolist()) == {0.0, 1.0}
        assert (mask.mean(dim=1) - 0.2).abs().max() < 0.08
        assert torch.equal(mask[:2], old)
        assert len({tuple(row) for row in mask.tolist()}) == 4


def test_gates_multiply_the_decoders_units_only(model):
    labels = torch.tensor([[0, 0, 1, 0, 0, 0], [0.5, 0, 0, 0.5, 0, 0]])
    z = torch.randn(2, 5, generator=torch.Generator().manual_seed(0))
    found = model.net.decode(z, model.gates(labels))
    for i in range(2):
        h = z[i].tolist()
        for depth, layer in enumerate(model.net.decoder):
            weight, bias = layer.weight.tolist(), layer.bias.tolist()
            h = [
                sum(w * v for w, v in zip(row, h, strict=True)) + b
                for row, b in zip(weight, bias, strict=True)
            ]
            if depth < 2:
                gates = [
                    sum(p * row[unit] for p, row in zip(labels[i].tolist(), rows, strict=True))
                    for rows in [model.masks[depth].tolist()]
                    for unit in range(len(h))
                ]
                h = [max(g * v, 0.0) for g, v in zip(gates, h, strict=True)]
        torch.testing.assert_close(found[i], torch.tensor(h), rtol=1e-4, atol=1e-5)


class Watched(BiR):
    """Keeps the classes that were drawn."""

    def drawn(self, n, net):
        z, labels = super().drawn(n, net)
        self.seen = [*self.__dict__.get("seen", []), (self.task, z, labels.argmax(dim=1), net)]
        return z, labels


def test_latent_variables_are_drawn_from_modes_of_old_classes_alike(tasks):
    model = learned(tasks[:3], Watched)
    for number in (1, 2):
        draws = [(z, codes, net) for task, z, codes, net in model.seen if task == number]
        codes = torch.cat([codes for _, codes, _ in draws])
        counts = torch.bincount(codes).tolist()
        assert len(counts) == 2 * number  # none of a class that is new
        assert min(counts) > 0.6 * len(codes) / (2 * number)
        z, net = torch.cat([z for z, _, _ in draws]), draws[0][2]
        assert len(net.mode_means) == 2 * number
        spread = (z - net.mode_means[codes]) / (0.5 * net.mode_log_variances[codes]).exp()
        assert abs(spread.mean().item()) < 0.05
        assert abs(spread.std().item() - 1) < 0.05


def test_modes_of_old_classes_go_on_and_new_ones_are_learned(tasks):
    model = learned(tasks[:1])
    before = model.net.mode_means.detach().clone()
    model.partial_fit(tasks[1].X_train / np.float32(16), tasks[1].y_train)
    assert model.net.mode_means.shape == (4, 5)
    assert (model.net.mode_means[:2] - before).abs().max() < 0.5  # from where they were


def test_modes_and_gates_are_counted(model):
    layers = [(64, 24), (24, 16), (16, 6), (16, 5), (16, 5), (5, 16), (16, 24), (24, 64)]
    numbers = sum((inputs + 1) * outputs for inputs, outputs in layers)
    numbers += 2 * 6 * 5 + 6 * (16 + 24)
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 0


@pytest.mark.parametrize("hidden", [(), (8,)])
def test_one_sample_of_a_class_and_a_task_without_new_classes_are_learned(hidden, vectors):
    X, y = vectors[0].X_train / 16, vectors[0].y_train
    rows = [int(np.flatnonzero(y == label)[0]) for label in np.unique(y)]
    model = BiR(**{**SMALL, "hidden": hidden}).partial_fit(X[rows], y[rows])
    model.partial_fit(X[rows], y[rows])
    assert set(model.predict(X)) <= set(y)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"gated": 1.5}, "gated=1.5: use a number from 0 to 1"),
        ({"mixture": 0.5}, "mixture=0.5 is not True or False"),
    ],
)
def test_bad_options_are_refused_in_one_line(options, reason):
    with pytest.raises(ClsnetError, match=reason):
        check_options(METHOD, options)
