import numpy as np
import pytest
import torch
from torch import nn

from clsnet.methods.common.trunks import Trunks
from clsnet.methods.der import DER, METHOD
from clsnet.methods.il2m import IL2M

SMALL = {"hidden": (32, 24), "epochs": 3, "batch_size": 20, "device": "cpu"}


def scaled(task):
    return task.X_train / np.float32(16), task.y_train


@pytest.fixture(scope="module")
def learned(tasks):
    model = DER(budget=60, **SMALL)
    trunks = []
    for task in tasks[:3]:
        model.partial_fit(*scaled(task))
        trunks.append([weight.detach().clone() for weight in model.net.trunks[-1].parameters()])
    return model, trunks


def test_old_trunks_are_unchanged_to_the_bit_and_new_ones_are_others(learned):
    model, trunks = learned
    assert len(model.net.trunks) == 3
    for trunk, before in zip(model.net.trunks, trunks, strict=True):
        for weight, kept in zip(trunk.parameters(), before, strict=True):
            torch.testing.assert_close(weight.detach(), kept, rtol=0, atol=0)
    assert not torch.equal(trunks[0][0], trunks[1][0])


def test_a_new_trunk_starts_as_a_copy_and_frozen_ones_have_no_batch_statistics():
    trunk = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    net = Trunks(nn.Identity(), trunk, 3)
    net.grow(2)
    before = net.head.weight.detach().clone()
    net.branch()
    old, new = net.trunks
    torch.testing.assert_close(new[0].weight, old[0].weight)
    torch.testing.assert_close(net.head.weight[:, :3].detach(), before)
    net.train()
    net(torch.randn(8, 4) + 5)
    assert (old[1].running_mean == 0).all()
    assert (new[1].running_mean != 0).all()
    assert not any(weight.requires_grad for weight in old.parameters())
    assert all(weight.requires_grad for weight in new.parameters())


def test_the_loss_is_that_of_both_heads(tasks):
    model = DER(budget=20, auxiliary=0.7, **SMALL).partial_fit(*scaled(tasks[0]))
    found = []

    class Watched(DER):
        def loss(self, x, y):
            if self.auxiliary_head is not None and not found:
                parts = [trunk(x) for trunk in self.net.trunks]
                both = self.net.head(torch.cat(parts, dim=1)).log_softmax(dim=1)
                beside = self.auxiliary_head(parts[-1]).log_softmax(dim=1)
                assert beside.shape[1] == 3  # two new classes, and all old ones
                first = second = 0.0
                for i, code in enumerate(y.tolist()):
                    first -= both[i, code] / len(y)
                    second -= beside[i, 0 if code < 2 else code - 1] / len(y)
                assert second > 0.1
                found.append((super().loss(x, y), first + 0.7 * second))
            return super().loss(x, y)

    model.__class__ = Watched
    model.partial_fit(*scaled(tasks[1]))
    torch.testing.assert_close(*found[0], rtol=1e-4, atol=1e-5)
    assert model.auxiliary_head is None


def test_one_task_is_plain_training(tasks):
    class Plain(IL2M):
        def schedule(self, epoch):
            return DER.schedule(self, epoch)

    options = {**SMALL, "learning_rate": 0.05, "weight_decay": 5e-4}
    ours = DER(**options).partial_fit(*scaled(tasks[0]))
    theirs = Plain(**options).partial_fit(*scaled(tasks[0]))
    x = ours.as_input(tasks[0].X_test / np.float32(16))
    torch.testing.assert_close(ours.net(x), theirs.net(x))


def test_the_refit_sees_exemplars_alone_and_changes_the_head_alone(tasks):
    seen = []

    class Watched(DER):
        def balance(self):
            before = [weight.clone() for weight in self.net.trunks.parameters()]
            head = self.net.head
            super().balance()
            same = map(torch.equal, before, self.net.trunks.parameters())
            seen.append((all(same), self.net.head is head))

        def train(self, X, y, phase=None):
            if phase is not None:
                assert X.shape == (40, 48)
                assert torch.bincount(y).tolist() == [10] * 4
                scores = self.net.head(X) / 5
                expected = nn.functional.cross_entropy(scores, y)
                torch.testing.assert_close(phase.loss(X, y), expected)
                assert [phase.schedule(epoch) for epoch in (0, 14, 15)] == [1, 1, 0.1]
            super().train(X, y, phase)

    model = Watched(budget=40, **SMALL)
    for task in tasks[:2]:
        model.partial_fit(*scaled(task))
    assert seen == [(True, False)]


def test_memory_counts_all_trunks(learned):
    model, _ = learned
    trunk = 65 * 32 + 33 * 24
    assert model.memory().model_mb == 4 * (3 * trunk + (3 * 24 + 1) * 6) / 2**20
    assert model.memory().exemplar_mb == 4 * 60 * 64 / 2**20


def test_tasks_without_new_classes_vectors_and_three_classes_are_taken(vectors):
    model = DER(budget=40, **SMALL)
    X, y = vectors[0].X_train / 16, vectors[0].y_train
    third = vectors[1].X_train[:20] / 16, vectors[1].y_train[:20]
    model.partial_fit(np.concatenate([X, third[0]]), np.concatenate([y, third[1]]))
    model.partial_fit(X, y)
    assert len(model.net.trunks) == 2
    assert model.net.head.out_features == len(model.labels)


def test_the_row_says_that_nothing_is_pruned():
    assert METHOD.variant == "without pruning"
    assert METHOD.build(0, None).budget == 2000
