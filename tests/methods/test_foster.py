import numpy as np
import pytest
import torch

from clsnet.errors import ClsnetError
from clsnet.methods.der import DER
from clsnet.methods.foster import FOSTER, class_weights

SMALL = {
    "hidden": (32, 24),
    "epochs": 3,
    "compression_epochs": 3,
    "batch_size": 20,
    "device": "cpu",
}


def scaled(task):
    return task.X_train / np.float32(16), task.y_train


def test_class_weights_are_inverse_effective_numbers_with_mean_one():
    found = class_weights(torch.tensor([20, 500]), 0.97)
    numbers = [sum(0.97**k for k in range(count)) for count in (20, 500)]
    mean = sum(1 / number for number in numbers) / 2
    assert found.tolist() == pytest.approx([1 / number / mean for number in numbers], rel=1e-4)
    assert class_weights(torch.tensor([7, 7]), 0.97).tolist() == pytest.approx([1, 1])
    assert class_weights(torch.tensor([1, 3]), 1.0).tolist() == pytest.approx([1.5, 0.5])


class Watched(FOSTER):
    """Looks at the losses of both phases, on their first batch."""

    def train(self, X, y, phase=None):
        if phase is not None:
            names = self.__dict__.setdefault("seen", {})
            name = "boost" if len(self.net.trunks) == 2 else "compress"
            if name == "boost":
                self.teacher = self.net
            x, codes = X[:5], y[:5]
            names[name] = (phase.loss(x, codes), self.literal(name, x, codes))
        super().train(X, y, phase)

    def literal(self, name, x, y):
        total, t = 0.0, 2.0
        b = torch.bincount(self.all_codes)
        beta = 0.97 if name == "boost" else 0.998
        w = [(1 - beta) / (1 - beta ** int(count)) for count in b]
        w = [each / (sum(w) / len(w)) for each in w]
        for row, code in zip(x, y.tolist(), strict=True):
            if name == "boost":
                parts = [trunk(row[None]) for trunk in self.net.trunks]
                scores = self.net.head(torch.cat(parts, dim=1))[0]
                old = self.old_net(row[None])[0]
                scaled = torch.stack([s / each for s, each in zip(scores, w, strict=True)])
                total -= scaled.log_softmax(0)[code]
                total -= self.auxiliary_head(parts[1])[0].log_softmax(0)[code]
                soft, log_p = (old / t).softmax(0), (scores[: len(old)] / t).log_softmax(0)
            else:
                soft = (self.teacher(row[None])[0] / t).softmax(0) * torch.tensor(w)
                soft, log_p = soft / soft.sum(), (self.net(row[None])[0] / t).log_softmax(0)
            total -= (soft * log_p).sum()
        return total / len(y)

    def fit_task(self, X, y):
        self.all_codes = self.replayed(X, y)[1]
        super().fit_task(X, y)


def test_both_losses_are_those_of_a_loop(tasks):
    model = Watched(budget=20, **SMALL)
    for task in tasks[:2]:
        model.partial_fit(*scaled(task))
    for name in ("boost", "compress"):
        found, literal = model.seen[name]
        torch.testing.assert_close(found, literal, rtol=1e-4, atol=1e-5)


def test_after_compression_there_is_one_trunk_that_started_as_the_old_one(tasks):
    model = FOSTER(budget=40, **{**SMALL, "compression_epochs": 0})
    model.partial_fit(*scaled(tasks[0]))
    before = [weight.detach().clone() for weight in model.net.trunks.parameters()]
    model.partial_fit(*scaled(tasks[1]))
    assert len(model.net.trunks) == 1
    for weight, old in zip(model.net.trunks.parameters(), before, strict=True):
        torch.testing.assert_close(weight.detach(), old, rtol=0, atol=0)
    numbers = 65 * 32 + 33 * 24 + 25 * 4
    assert model.memory().model_mb == 4 * numbers / 2**20


def test_the_old_trunk_is_frozen_while_the_new_one_learns(tasks):
    class Looking(FOSTER):
        def compress(self, x, y):
            self.trunks = [trunk[0].weight.detach().clone() for trunk in self.net.trunks]
            super().compress(x, y)

    model = Looking(budget=40, **SMALL).partial_fit(*scaled(tasks[0]))
    before = model.net.trunks[0][0].weight.detach().clone()
    model.partial_fit(*scaled(tasks[1]))
    torch.testing.assert_close(model.trunks[0], before, rtol=0, atol=0)
    assert not torch.equal(model.trunks[1], before)
    assert all(weight.requires_grad for weight in model.net.parameters())


def test_the_first_task_is_plain_training(tasks):
    x = torch.rand(5, 64)
    foster = FOSTER(**SMALL).partial_fit(*scaled(tasks[0]))
    options = {name: value for name, value in SMALL.items() if name != "compression_epochs"}
    der = DER(**options).partial_fit(*scaled(tasks[0]))
    torch.testing.assert_close(foster.net(x), der.net(x))


def test_vectors_and_tasks_without_new_classes_are_taken(vectors):
    model = FOSTER(budget=40, **{**SMALL, "epochs": 10, "compression_epochs": 10})
    for task in (*vectors[:2], vectors[0]):
        model.partial_fit(task.X_train / 16, task.y_train)
    right = np.mean(model.predict(vectors[0].X_test / 16) == vectors[0].y_test)
    assert right > 0.8


@pytest.mark.parametrize("wrong", [{"temperature": 0}, {"boosting_beta": 1.5}, {"auxiliary": -1}])
def test_bad_options_are_one_line(wrong, tasks):
    with pytest.raises(ClsnetError, match=next(iter(wrong))) as caught:
        FOSTER(**SMALL, **wrong).partial_fit(*scaled(tasks[0]))
    assert "\n" not in str(caught.value)
