import numpy as np
import pytest
import torch
from PIL import Image

from clsnet.errors import ClsnetError
from clsnet.images.dead_leaves import dead_leaves
from clsnet.methods.common.auxiliary_images import folder_images, synthetic_images
from clsnet.methods.dmc import DMC, double_target
from clsnet.methods.options import check_options
from clsnet.methods.registry import get_method

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
    model = Recorded(**{**SMALL, "merge_epochs": 40})
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
    expected = synthetic_images(400, (64,)) * float(vectors[1].X_train.max() / 16)
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
    np.testing.assert_allclose(synthetic_images(3, (28, 28)).numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("shape", [(8, 8), (64,), (10,), (3, 32, 24)])
def test_auxiliary_images_fit_any_samples(shape):
    images = synthetic_images(5, shape)
    assert images.shape == (5, int(np.prod(shape)))
    assert images.min() >= 0
    assert images.max() <= 1
    assert images.std() > 0.1


def test_the_channels_of_a_pixel_are_alike():
    images = synthetic_images(2, (3, 28, 28)).reshape(2, 3, 28, 28)
    torch.testing.assert_close(images[:, 0], images[:, 2])
    torch.testing.assert_close(images[:, 1].flatten(1), synthetic_images(2, (28, 28)))


def test_nothing_but_the_network_is_kept(vectors):
    model = DMC(**SMALL)
    for task in vectors[:2]:
        model.partial_fit(task.X_train / 16, task.y_train)
    weights = 65 * 32 + 33 * 32 + 33 * 4
    assert model.memory().model_mb == 4 * weights / 2**20
    assert model.memory().exemplar_mb == 0
    assert not [name for name, value in vars(model).items() if isinstance(value, torch.Tensor)]


@pytest.fixture
def photos(tmp_path):
    """Four images of one colour each, of other sizes than any sample, and what is no image."""
    (tmp_path / "inside").mkdir()
    for i, colour in enumerate(["red", "white", "black", "blue"]):
        Image.new("RGB", (40, 30 + i), colour).save(tmp_path / "inside" / f"{i}.png")
    (tmp_path / "broken.png").write_bytes(b"no image")
    (tmp_path / "notes.txt").write_text("no image either")
    return tmp_path


def test_images_of_a_folder_are_resized_and_grey_where_samples_are(photos):
    grey = folder_images(str(photos), 10, (8, 8))
    assert grey.shape == (4, 64)
    expected = torch.tensor([0.299, 1.0, 0.0, 0.114])[:, None].expand(4, 64)
    torch.testing.assert_close(grey, expected, rtol=0, atol=1e-5)
    colours = folder_images(str(photos), 10, (3, 12, 8)).reshape(4, 3, 12, 8)
    assert colours[0, :, 5, 5].tolist() == [1.0, 0.0, 0.0]
    assert colours[3, :, 0, 0].tolist() == [0.0, 0.0, 1.0]
    assert folder_images(str(photos), 10, (10,)).shape == (4, 10)


def test_no_more_images_are_read_than_asked_for_and_always_the_same(photos):
    few = folder_images(str(photos), 2, (8, 8))
    assert len(few) <= 2
    folder_images.cache_clear()
    torch.testing.assert_close(folder_images(str(photos), 2, (8, 8)), few)


def test_a_folders_images_replace_the_synthetic_ones(vectors, photos):
    model = Recorded(**SMALL, auxiliary=str(photos))
    for task in vectors[:2]:
        model.partial_fit(task.X_train / 16, task.y_train)
    expected = folder_images(str(photos), 400, (64,)) * float(vectors[1].X_train.max() / 16)
    torch.testing.assert_close(model.images, expected)
    assert model.target.shape == (4, 4)
    assert model.memory().exemplar_mb == 0


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("missing", "there is no such folder"),
        ("empty", "holds no image"),
        ("text", "holds no image"),
        ("broken", "none of its 1 images can be read"),
    ],
)
def test_a_folder_without_images_is_one_line_before_training(tmp_path, vectors, what, message):
    folder = tmp_path / what
    if what != "missing":
        folder.mkdir()
    if what == "text":
        (folder / "notes.txt").write_text("no image")
    if what == "broken":
        (folder / "a.jpg").write_bytes(b"no image")
    model = DMC(**SMALL, auxiliary=str(folder))
    with pytest.raises(ClsnetError, match=message) as caught:
        check_options(get_method("dmc"), {"auxiliary": str(folder)})
    assert "\n" not in str(caught.value)
    with pytest.raises(ClsnetError, match=message):
        model.partial_fit(vectors[0].X_train / 16, vectors[0].y_train)
    assert not hasattr(model, "net")


def test_networks_of_a_task_are_trained_with_momentum_and_weight_decay(vectors):
    model = DMC(**SMALL).partial_fit(vectors[0].X_train / 16, vectors[0].y_train)
    (group,) = model.optimiser().param_groups
    assert (group["momentum"], group["weight_decay"]) == (0.9, 5e-4)
    free = DMC(**SMALL, weight_decay=0.0)
    free.partial_fit(vectors[0].X_train / 16, vectors[0].y_train)
    held = DMC(**SMALL, weight_decay=0.1)
    held.partial_fit(vectors[0].X_train / 16, vectors[0].y_train)
    assert held.net.body[0].weight.norm() < 0.8 * free.net.body[0].weight.norm()
