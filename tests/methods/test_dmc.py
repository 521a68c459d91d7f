import numpy as np
import pytest
import torch

from clsnet.images.dead_leaves import dead_leaves
from clsnet.methods.dmc import DMC, auxiliary, double_target

SMALL = {
    "n_auxiliary": 400,
    "merge_epochs": 10,
    "hidden": (32, 32),
    "epochs": 3,
    "batch_size": 20,
    "device": "cpu",
}


def test_target_is_each_networks_scores_less_their_mean_over_its_classes():
    random = torch.Generator().manual_seed(0)
    old, new = torch.randn(6, 4, generator=random), torch.randn(6, 3, generator=random)
    target = double_target(old, new, torch.tensor([4, 5, 6]))
    for row in range(6):
        for j in range(7):
            mine = old[row] if j < 4 else new[row]
            expected = mine[j if j < 4 else j - 4] - sum(mine.tolist()) / len(mine)
            assert target[row, j].item() == pytest.approx(expected.item(), abs=1e-6)


def test_the_target_of_a_sample_does_not_depend_on_the_others():
    old, new = torch.randn(6, 4), torch.randn(6, 3)
    alone = double_target(old[:1], new[:1], torch.tensor([4, 5, 6]))
    torch.testing.assert_close(double_target(old, new, torch.tensor([4, 5, 6]))[:1], alone)


def test_a_class_that_comes_again_is_left_to_the_new_network():
    old, new = torch.tensor([[1.0, 3.0]]), torch.tensor([[9.0, 5.0]])
    assert double_target(old, new, torch.tensor([1, 2])).tolist() == [[-1.0, 2.0, -2.0]]


class Recorded(DMC):
    def train(self, X, y, phase=None):
        if phase is not None:
            self.images, self.target = X, y
        super().train(X, y, phase)


def test_the_merged_network_has_learned_the_target(vectors):
    model = Recorded(**SMALL)
    for task in vectors[:2]:
        model.partial_fit(task.X_train / 16, task.y_train)
    assert model.target.shape == (400, 4)
    assert model.target[:, :2].mean(dim=1).abs().max() < 1e-5
    assert model.target[:, 2:].mean(dim=1).abs().max() < 1e-5
    residual = (model.net(model.images) - model.target).square().mean()
    assert residual < 0.2 * model.target.square().mean()


def test_merging_sees_auxiliary_images_only(vectors):
    model = Recorded(**SMALL)
    for task in vectors[:2]:
        model.partial_fit(task.X_train / 16, task.y_train)
    expected = auxiliary(400, (64,)) * float(vectors[1].X_train.max() / 16)
    torch.testing.assert_close(model.images, expected)


def test_it_knows_more_than_the_last_task(vectors):
    model = DMC(**SMALL)
    for task in vectors[:2]:
        model.partial_fit(task.X_train / 16, task.y_train)
    right = [np.mean(model.predict(task.X_test / 16) == task.y_test) for task in vectors[:2]]
    assert min(right) > 0.2
    assert np.mean(right) > 0.55


def test_auxiliary_images_of_28_by_28_are_dead_leaves():
    expected = dead_leaves(3, np.random.RandomState(0)).reshape(3, -1).astype(np.float32)
    np.testing.assert_allclose(auxiliary(3, (28, 28)).numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("shape", [(8, 8), (64,), (10,), (3, 32, 24)])
def test_auxiliary_images_fit_any_samples(shape):
    images = auxiliary(5, shape)
    assert images.shape == (5, int(np.prod(shape)))
    assert images.min() >= 0
    assert images.max() <= 1
    assert images.std() > 0.1


def test_the_channels_of_a_pixel_are_alike():
    images = auxiliary(2, (3, 28, 28)).reshape(2, 3, 28, 28)
    torch.testing.assert_close(images[:, 0], images[:, 2])
    torch.testing.assert_close(images[:, 1].flatten(1), auxiliary(2, (28, 28)))


def test_nothing_but_the_network_is_kept(vectors):
    model = DMC(**SMALL)
    for task in vectors[:2]:
        model.partial_fit(task.X_train / 16, task.y_train)
    weights = 65 * 32 + 33 * 32 + 33 * 4
    assert model.memory().model_mb == 4 * weights / 2**20
    assert model.memory().exemplar_mb == 0
    assert not [name for name, value in vars(model).items() if isinstance(value, torch.Tensor)]
