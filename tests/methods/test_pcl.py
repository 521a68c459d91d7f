import copy
import math

import numpy as np
import pytest
import torch

from clsnet.errors import ClsnetError
from clsnet.methods import check_options
from clsnet.methods.pcl import METHOD, PCL, ClassNetworks, score_and_gradient

SMALL = {"hidden": (12,), "task_units": 10, "epochs": 3, "batch_size": 20, "device": "cpu"}


def learned(tasks, kind=PCL, **options):
    model = kind(**{**SMALL, **options})
    for task in tasks:
        model.partial_fit(np.asarray(task.X_train) / np.float32(16), task.y_train)
    return model


def some(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_the_gradient_of_a_score_is_that_of_autograd():
    x, first, last = some(0, 7, 5).requires_grad_(), some(1, 6, 5), some(2, 6)
    score, gradient = score_and_gradient(x, first, last)
    torch.testing.assert_close(score, (x @ first.T).relu() @ last)
    torch.testing.assert_close(gradient, torch.autograd.grad(score.sum(), x)[0])


def test_the_penalty_changes_weights_as_double_backward_does():
    x, first = some(0, 7, 5).requires_grad_(), some(1, 6, 5).requires_grad_()
    last = some(2, 6).requires_grad_()
    _, gradient = score_and_gradient(x.detach(), first, last)
    found = torch.autograd.grad(gradient.square().sum(dim=1).pow(4).mean(), (first, last))
    score = (x @ first.T).relu() @ last
    gradient = torch.autograd.grad(score.sum(), x, create_graph=True)[0]
    penalty = (gradient.norm(dim=1) ** 8).mean()
    assert math.isfinite(penalty.item()) and penalty.item() > 0
    expected = torch.autograd.grad(penalty, (first, last))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-3)


class Compared(PCL):
    """Keeps each loss that is asked for, and the one written out sample by sample."""

    def descend(self, X, y, parameters, loss):
        if len(parameters) == 2:
            with torch.no_grad():
                parameters[0].add_(0.1 * some(3, *parameters[0].shape))  # away from the mean
            pair = (loss(X[:6], y[:6]).item(), self.literal(X[:6].tolist(), parameters))
            self.pairs = [*self.__dict__.get("pairs", []), pair]
        super().descend(X, y, parameters, loss)

    def literal(self, X, parameters):
        code = next(c for c in range(len(self.labels)) if self.net.first[c] is parameters[0])
        first, last = (parameter.tolist() for parameter in parameters)
        total = 0.0
        for x in X:
            units = [sum(w * v for w, v in zip(row, x, strict=True)) for row in first]
            score = sum(max(u, 0.0) * v for u, v in zip(units, last, strict=True))
            gradient = [
                sum(v * row[j] for u, v, row in zip(units, last, first, strict=True) if u > 0)
                for j in range(len(x))
            ]
            norm = math.sqrt(sum(g * g for g in gradient))
            total -= math.log(1 / (1 + math.exp(-score)) + 0.01)
            total += self.penalty * norm**8
        total /= len(X)
        if code > 0:
            for layer in (self.net.first, self.net.last):
                mean = sum(layer[c].detach().double() for c in range(code)) / code
                total += self.transfer * (layer[code].detach().double() - mean).norm().item()
        return total


def test_the_loss_of_a_class_is_that_of_the_paper(tasks):
    model = learned(tasks[:2], Compared, transfer=0.7, epochs=1)
    assert len(model.pairs) == 4
    for found, expected in model.pairs:
        assert found == pytest.approx(expected, rel=1e-4)


class Watched(PCL):
    """Keeps the weights with which every class started."""

    def descend(self, X, y, parameters, loss):
        if len(parameters) == 2:
            start = parameters[0].detach().clone()
            self.starts = [*self.__dict__.get("starts", []), start]
        super().descend(X, y, parameters, loss)


def test_a_class_starts_from_the_mean_of_all_before_it(tasks):
    model = learned(tasks[:2], Watched)
    for code in range(1, 4):
        mean = sum(model.net.first[c].detach() for c in range(code)) / code
        torch.testing.assert_close(model.starts[code], mean)


def test_learning_a_class_changes_no_parameter_of_another(tasks):
    model = learned(tasks[:2])
    before = copy.deepcopy(model.net.state_dict())
    model.partial_fit(tasks[2].X_train / np.float32(16), tasks[2].y_train)
    after = model.net.state_dict()
    assert before.keys() < after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_scores_lack_a_tenth_of_what_the_other_classes_make_of_an_input():
    net = ClassNetworks(5, 4, torch.device("cpu"))
    net.grow(3)
    net.requires_grad_(False)
    x = some(0, 2, 5)
    found = net(x)
    for i in range(2):
        for c in range(3):
            score = 0.0
            for unit in range(4):
                own = float(net.first[c][unit] @ x[i])
                rest = [float(net.first[d][unit] @ x[i]) for d in range(3) if d != c]
                units = max(own, 0.0) - 0.1 * max(sum(rest) / 2, 0.0)
                score += units * float(net.last[c][unit])
            assert float(found[i, c]) == pytest.approx(score, rel=1e-4, abs=1e-6)


def test_in_each_task_one_class_competes(tasks):
    model = learned(tasks[:3])
    x = model.as_input(tasks[0].X_test / np.float32(16))
    scores, plain = model.scores(x), model.net(x)
    for number, members in enumerate(model.members):
        chosen = model.net.choosers[number](x).argmax(dim=1)
        for row in range(len(x)):
            finite = torch.isfinite(scores[row, members])
            assert finite.sum() == 1 and finite[chosen[row]]
    stay = torch.isfinite(scores)
    assert torch.equal(scores[stay], plain[stay])


@pytest.mark.parametrize("options", [{}, {"task_units": 0}])
def test_the_gradient_penalty_makes_classes_comparable(tasks, options):
    X = np.concatenate([task.X_test for task in tasks]) / np.float32(16)
    y = np.concatenate([task.y_test for task in tasks])
    options = {"hidden": (50,), "epochs": 10, **options}
    found = np.mean(learned(tasks, **options).predict(X) == y)
    assert found > 0.85
    assert np.mean(learned(tasks, penalty=0.0, **options).predict(X) == y) < found - 0.3


def test_inputs_have_length_1_before_they_are_shifted(tasks):
    model = learned(tasks[:1])
    X = tasks[0].X_test / np.float32(16)
    x = model.as_input(X)
    torch.testing.assert_close((x + 0.56 / 8).norm(dim=1), torch.ones(len(x)))
    torch.testing.assert_close(model.as_input(X * 3), x)
    assert torch.isfinite(model.as_input(X * 0)).all()


def test_every_network_is_counted(tasks):
    model = learned(tasks[:2])
    numbers = 4 * (64 * 12 + 12) + 2 * (65 * 10 + 11 * 2)
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 0


def test_tasks_of_one_class_need_no_classifier_and_classes_may_come_again(vectors):
    model = PCL(**SMALL)
    X, y = vectors[0].X_train / 16, vectors[0].y_train
    for label in np.unique(y):
        model.partial_fit(X[y == label], y[y == label])
    assert sum(p.numel() for p in model.net.choosers.parameters()) == 0
    assert np.mean(model.predict(X) == y) > 0.8
    model.partial_fit(X, y)
    assert model.members == [[0], [1], [0, 1]]
    assert np.mean(model.predict(X) == y) > 0.8
    rows = [int(np.flatnonzero(y == label)[0]) for label in np.unique(y)]
    PCL(**SMALL).partial_fit(X[rows], y[rows]).predict(X)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"hidden": (100, 100)}, r"hidden=\(100, 100\): use one number; a class has one layer"),
        ({"penalty": -1.0}, "penalty=-1.0: use a number of 0 or more"),
        ({"momentum": 2.0}, "momentum=2.0: use a number from 0 to 1"),
    ],
)
def test_bad_options_are_refused_in_one_line(options, reason):
    with pytest.raises(ClsnetError, match=reason):
        check_options(METHOD, options)
