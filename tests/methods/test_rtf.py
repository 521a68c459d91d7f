import copy
import math

import numpy as np
import pytest
import torch

from clsnet.errors import ClsnetError
from clsnet.methods import check_options
from clsnet.methods.rtf import METHOD, RtF

SMALL = {"hidden": (24, 16), "latent": 5, "epochs": 10, "batch_size": 20, "device": "cpu"}


def learned(tasks, kind=RtF, divisor=16, **options):
    model = kind(**{**SMALL, **options})
    for task in tasks:
        model.partial_fit(np.asarray(task.X_train) / np.float32(divisor), task.y_train)
    return model


class Literal:
    """The loss of one batch, sample by sample and unit by unit, in Python numbers."""

    def __init__(self, model):
        self.model = model
        self.latent = model.latent

    def layer(self, layer, x):
        weight, bias = layer.weight.tolist(), layer.bias.tolist()
        return [
            sum(w * v for w, v in zip(row, x, strict=True)) + b
            for row, b in zip(weight, bias, strict=True)
        ]

    def hidden(self, net, x):
        for layer in (net.body[0], net.body[2]):
            x = [max(v, 0.0) for v in self.layer(layer, x)]
        return x

    def decode(self, net, z):
        first, second, last = net.decoder
        z = [max(v, 0.0) for v in self.layer(first, z)]
        z = [max(v, 0.0) for v in self.layer(second, z)]
        out = self.layer(last, z)
        return [1 / (1 + math.exp(-v)) for v in out] if self.model.pixels else out

    def generative(self, x, noise):
        net = self.model.net
        top = self.hidden(net, x)
        mean, log_variance = self.layer(net.mean, top), self.layer(net.log_variance, top)
        z = [m + math.exp(v / 2) * e for m, v, e in zip(mean, log_variance, noise, strict=True)]
        decoded = self.decode(net, z)
        if self.model.pixels:
            terms = [
                -t * math.log(p) - (1 - t) * math.log(1 - p)
                for t, p in zip(x, decoded, strict=True)
            ]
        else:
            terms = [(t - p) ** 2 for t, p in zip(x, decoded, strict=True)]
        kl = sum((m * m + math.exp(v) - 1 - v) / 2 for m, v in zip(mean, log_variance, strict=True))
        return self.layer(net.head, top), (sum(terms) + kl) / len(x)

    def entropy(self, scores, target):
        """The cross-entropy of a distribution over classes and the scores' softmax."""
        total = math.log(sum(math.exp(score) for score in scores))
        return sum(t * (total - score) for t, score in zip(target, scores, strict=True))

    def loss(self, X, y):
        draw = self.model.random
        noise = torch.randn(len(X), self.latent, generator=draw).tolist()
        n_classes, total = len(self.model.labels), 0.0
        for x, code, e in zip(X.tolist(), y.tolist(), noise, strict=True):
            scores, rest = self.generative(x, e)
            total += rest + self.entropy(scores, [float(c == code) for c in range(n_classes)])
        share = 1 / (self.model.task + 1)
        total *= share
        old = self.model.old_net
        from_prior = torch.randn(len(X), self.latent, generator=draw).tolist()
        noise = torch.randn(len(X), self.latent, generator=draw).tolist()
        for z, e in zip(from_prior, noise, strict=True):
            x = self.decode(old, z)
            exponents = [math.exp(s / 2) for s in self.layer(old.head, self.hidden(old, x))]
            soft = [v / sum(exponents) for v in exponents]
            soft += [0.0] * (n_classes - len(soft))
            scores, rest = self.generative(x, e)
            total += (1 - share) * (rest + 4 * self.entropy([s / 2 for s in scores], soft))
        return total / len(X)


class Compared(RtF):
    """Compares the first loss of the third task with the literal one."""

    def loss(self, x, y):
        if self.task == 2 and not hasattr(self, "losses"):
            state = self.random.get_state()
            self.losses = (super().loss(x, y).item(), None)
            self.random.set_state(state)
            self.losses = (self.losses[0], Literal(self).loss(x, y))
        return super().loss(x, y)


@pytest.mark.parametrize("divisor", [16, 4], ids=["pixels", "squared error"])
def test_the_loss_is_that_of_the_paper(tasks, divisor):
    model = learned(tasks[:3], Compared, divisor, epochs=2)
    assert model.pixels == (divisor == 16)
    assert model.losses[0] == pytest.approx(model.losses[1], rel=1e-4)


class Watched(RtF):
    """Keeps what was generated, and by which network."""

    def generated(self, n, net):
        x, labels = super().generated(n, net)
        self.seen = [*self.__dict__.get("seen", []), (self.task, x, labels, net)]
        return x, labels


def test_replay_starts_with_the_second_task_and_has_old_labels_only(tasks):
    model = learned(tasks[:3], Watched, epochs=1)
    assert {task for task, *_ in model.seen} == {1, 2}
    for task, x, labels, _ in model.seen:
        assert len(x) == len(labels) <= 20
        assert ((x > 0) & (x < 1)).all()
        assert labels.shape[1] == 2 * (task + 1)
        torch.testing.assert_close(labels[:, : 2 * task].sum(dim=1), torch.ones(len(x)))
        assert (labels[:, 2 * task :] == 0).all()


def test_replay_comes_from_the_network_as_it_was_before_the_task(tasks):
    model = learned(tasks[:1], Watched)
    before = copy.deepcopy(model.net.state_dict())
    model.partial_fit(tasks[1].X_train / np.float32(16), tasks[1].y_train)
    assert len({id(net) for *_, net in model.seen}) == 1
    frozen = model.seen[-1][-1].state_dict()
    for name, tensor in before.items():
        assert torch.equal(tensor, frozen[name])
    assert not torch.equal(model.net.mean.weight, before["mean.weight"])


def test_one_network_is_all_that_is_kept(tasks):
    model = learned(tasks[:2])
    layers = [(64, 24), (24, 16), (16, 4), (16, 5), (16, 5), (5, 16), (16, 24), (24, 64)]
    numbers = sum((inputs + 1) * outputs for inputs, outputs in layers)
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 0
    assert model.exemplars is None and model.old_net is None


def test_old_classes_are_remembered_by_replay(tasks):
    options = {"hidden": (100,), "latent": 20, "learning_rate": 0.003}
    X, y = tasks[0].X_test / np.float32(16), tasks[0].y_test
    with_replay, without = (
        np.mean(learned(tasks[:3], replay=on, **options).predict(X) == y) for on in (True, False)
    )
    assert with_replay > 0.7
    assert without < 0.2


def test_values_beyond_those_of_the_first_task_do_no_harm(tasks):
    model = learned(tasks[:1])
    model.partial_fit(tasks[1].X_train.astype(np.float32), tasks[1].y_train)  # 16 times as bright
    assert all(torch.isfinite(tensor).all() for tensor in model.net.state_dict().values())


@pytest.mark.parametrize("hidden", [(), (8,)])
def test_one_sample_of_a_class_and_a_task_without_new_classes_are_learned(hidden, vectors):
    X, y = vectors[0].X_train / 16, vectors[0].y_train
    rows = [int(np.flatnonzero(y == label)[0]) for label in np.unique(y)]
    model = RtF(**{**SMALL, "hidden": hidden}).partial_fit(X[rows], y[rows])
    model.partial_fit(X[rows], y[rows])
    assert set(model.predict(X)) <= set(y)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"latent": 0}, "latent=0: use a number of 1 or more"),
        ({"temperature": 0.0}, "temperature=0.0: use a number above 0"),
        ({"replay": 1}, "replay=1 is not True or False"),
    ],
)
def test_bad_options_are_refused_in_one_line(options, reason):
    with pytest.raises(ClsnetError, match=reason):
        check_options(METHOD, options)
