import numpy as np
import pytest
import torch

from clsnet.errors import ClsnetError
from clsnet.evaluation.reachable import reachable_arrays
from clsnet.extractor.backbones import resolve_backbone
from clsnet.extractor.backbones.weights import About, write_weights
from clsnet.methods.common.residual import Residual
from clsnet.pretraining.joint_finetuned import JointFineTuned

COLOURS = np.array([[220, 30, 30], [30, 220, 30], [30, 30, 220], [220, 220, 30]])


def task(classes, n, seed):
    random = np.random.RandomState(seed)
    y = np.repeat(classes, n)
    noise = random.randint(-30, 30, (len(y), 3, 8, 8))
    return (COLOURS[y][:, :, None, None] + noise).clip(0, 255).astype(np.uint8), y


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / "base.safetensors"
    about = About("resnet18", True, 8, (0.5,) * 3, (0.3,) * 3, "supervised", "Colours", ())
    write_weights(path, about, Residual(18, small=True, n_classes=8).state_dict())
    return str(path)


@pytest.fixture(scope="module")
def model(weights):
    model = JointFineTuned(backbone=weights, epochs=2, device="cpu")
    for number, classes in enumerate(([2, 0], [3, 1])):
        model.partial_fit(*task(classes, 16, number))
    return model


def test_classes_of_all_tasks_are_told_apart(model):
    X, y = task([0, 1, 2, 3], 10, 9)
    assert np.mean(model.predict(X) == y) > 0.8
    alone = [model.predict(X[i : i + 1])[0] for i in (0, 11, 22, 33)]
    assert alone == model.predict(X)[[0, 11, 22, 33]].tolist()


def test_every_sample_is_kept_and_counted(model):
    assert len(model.exemplars) == 4 * 16
    assert model.memory().exemplar_mb == 4 * 64 * 3 * 64 / 2**20


def test_the_network_to_start_from_counts_as_it_does_for_all_methods(model, weights):
    frozen = resolve_backbone(weights, (3, 8, 8))
    assert model.memory().backbone_mb == frozen.referred_mb > 0


def test_memory_counts_every_array(model):
    found, memory = reachable_arrays(model), model.memory()
    counted = round((memory.model_mb + memory.exemplar_mb) * 2**20 / 4)
    assert found.least <= counted <= found.most, str(found)


def test_the_weights_to_start_from_are_asked_for():
    with pytest.raises(ClsnetError, match="joint-finetuned needs --backbone"):
        JointFineTuned().partial_fit(*task([0, 1], 2, 0))
