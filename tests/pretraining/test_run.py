import dataclasses

import numpy as np
import pytest
import torch

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.weights import read_weights, write_weights
from clsnet.methods.common.residual import Residual
from clsnet.pretraining import Base, pretrain


@pytest.fixture(scope="module")
def learned(shapes):
    return pretrain(shapes(192), epochs=3, device="cpu")


def test_the_classes_are_learned(learned):
    about, _ = learned
    assert about.accuracy > 0.4  # by chance 0.25


def test_the_file_says_what_it_is_and_gives_the_same_accuracy(learned, shapes, tmp_path):
    write_weights(tmp_path / "w", *learned)
    about, state = read_weights(tmp_path / "w")
    data = shapes(192)
    assert (about.network, about.small, about.size) == ("resnet18", True, 8)
    assert (about.objective, about.dataset) == ("supervised", "Shapes")
    assert about.classes == data.class_names
    np.testing.assert_allclose(about.mean, data.X.mean(axis=(0, 2, 3)) / 255)
    np.testing.assert_allclose(about.deviation, data.X.std(axis=(0, 2, 3)) / 255)

    network = Residual(18, about.small, 4 * len(about.classes))
    tensors = {name: torch.from_numpy(array) for name, array in state.items()}
    network.load_state_dict(tensors, strict=True)
    mean, deviation = (np.float32(c)[:, None, None] for c in (about.mean, about.deviation))
    with torch.no_grad():
        scores = network.eval()(
            torch.from_numpy((data.X_test / np.float32(255) - mean) / deviation)
        )
    upright = scores[:, [0, 4, 8, 12]]
    assert (upright.argmax(dim=1).numpy() == data.y_test).mean() == pytest.approx(about.accuracy)


def test_simsiam_weights_load_as_well(shapes):
    data = shapes(32)
    about, state = pretrain(data, objective="simsiam", epochs=1, device="cpu")
    Residual(18, small=True, n_classes=16).load_state_dict(state, strict=True)
    assert about.objective == "simsiam"
    assert 0 <= about.accuracy <= 1


def test_larger_images_get_the_first_layers_for_photographs():
    X = np.zeros((4, 70, 72), np.uint8)
    data = Base("Black", X, np.arange(4) % 2, X, np.arange(4) % 2, ("a", "b"))
    about, state = pretrain(data, epochs=1, device="cpu")
    assert (about.size, about.small) == (70, False)
    assert state["conv1.weight"].shape == (64, 3, 7, 7)


def test_of_another_run_the_option_is_named_and_not_what_follows_from_it(shapes, tmp_path):
    def stop_in_the_second_epoch(status):
        if status.epoch == 2:
            raise KeyboardInterrupt

    kept = {"checkpoint": tmp_path / "c", "epochs": 2, "device": "cpu"}
    with pytest.raises(KeyboardInterrupt):
        pretrain(shapes(8), **kept, show=stop_in_the_second_epoch)
    with pytest.raises(ClsnetError, match=r"is of a run with other size \(8\): give that"):
        pretrain(shapes(8), **kept, size=16)


def test_the_callers_random_numbers_are_left_alone(shapes):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    pretrain(shapes(8), epochs=1, device="cpu")
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backbone": "resnet-18"}, "unknown backbone 'resnet-18': the nearest is 'resnet18'"),
        ({"objective": "simclr"}, "unknown objective 'simclr': the nearest is 'simsiam'"),
        ({"device": "toaster"}, "device 'toaster' is not available here"),
    ],
)
def test_unknown_names_are_refused(shapes, options, message):
    with pytest.raises(ClsnetError, match=message):
        pretrain(shapes(8), **options)


def test_one_class_is_not_enough(shapes):
    data = dataclasses.replace(shapes(8), class_names=("cat",), y=np.zeros(8, int))
    with pytest.raises(ClsnetError, match="Shapes has only one base class"):
        pretrain(data)
