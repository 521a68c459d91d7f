import copy
from importlib import metadata

import numpy as np
import pytest

from clsnet import CLSNet
from clsnet.errors import ClsnetError
from clsnet.extractor.backbones import backbone_class, resolve_backbone
from clsnet.extractor.backbones.callables import GROUP, CallableBackbone

X = np.random.default_rng(0).integers(0, 256, (6, 3, 8, 8), dtype=np.uint8)


def means(images):
    """What another package would offer."""
    return images.mean(axis=(2, 3))


@pytest.fixture
def registered(monkeypatch):
    """Offer the function above, as a package with an entry point would."""
    entries = metadata.EntryPoints(
        metadata.EntryPoint(name, f"{__name__}:{function}", GROUP)
        for name, function in (("means", "means"), ("broken", "absent"), ("text", "__name__"))
    )
    monkeypatch.setattr(metadata, "entry_points", lambda **how: entries.select(**how))


def test_a_function_of_arrays_is_a_backbone_and_its_answers_are_taken_as_they_are():
    backbone = resolve_backbone(means, (3, 8, 8))
    backbone.fit(X, np.random.RandomState(0))
    Z = backbone.transform(backbone.as_input(X))
    assert Z.dtype == np.float64
    np.testing.assert_allclose(Z, X.mean(axis=(2, 3)), rtol=1e-6)
    assert repr(backbone) == "CallableBackbone(means)"
    assert backbone.state() == {} and backbone.fingerprint == ""


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (
            lambda X: X,
            r"answers 6 samples with an array of shape \(6, 3, 8, 8\); it must be \(6, d\)",
        ),
        (lambda X: X[:3].mean(axis=(2, 3)), r"array of shape \(3, 3\); it must be \(6, d\)"),
        (lambda X: X.mean(axis=(1, 2, 3)), r"array of shape \(6,\)"),
        (lambda X: np.full((6, 2), np.nan), "answers with numbers that are not finite"),
        (lambda X: np.full((6, 2), np.inf), "answers with numbers that are not finite"),
        (lambda X: "text", "answers with str, no array"),
        (lambda X: [[1.0], [2.0, 3.0]], "answers with list, no array"),
        (lambda X: None, "array of shape"),
    ],
)
def test_other_answers_are_refused_in_one_line(function, said):
    with pytest.raises(ClsnetError, match=said) as refusal:
        CallableBackbone(function).transform(X)
    assert "\n" not in str(refusal.value)


def test_a_function_without_a_name_cannot_be_saved():
    with pytest.raises(
        ClsnetError, match=r"backbone CallableBackbone\(means\) cannot be saved: re"
    ):
        _ = CallableBackbone(means).config


def test_a_registered_function_is_saved_by_its_name(registered):
    backbone = resolve_backbone("means", (3, 8, 8))
    assert backbone.config == {"function": "means"}
    assert repr(backbone) == "CallableBackbone('means')"
    again = backbone_class(backbone.name)(**backbone.config)
    np.testing.assert_array_equal(again.transform(X), means(X))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("absent", "'absent' is not installed here: no function has an entry point of that name"),
        ("broken", "the backbone 'broken' .* fails: module .* has no attribute 'absent'"),
        ("text", "'text' is not installed here"),
    ],
)
def test_a_name_that_is_not_registered_is_refused(registered, name, said):
    with pytest.raises(ClsnetError, match=said):
        CallableBackbone(name)


def test_copies_share_the_function():
    backbone = CallableBackbone(means)
    assert copy.deepcopy(backbone).function is means


def test_a_module_of_torch_gets_fractions_of_one_and_is_never_in_training():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Dropout(), torch.nn.Flatten()
    )
    backbone = resolve_backbone(module, (3, 8, 8))
    Z = backbone.transform(backbone.as_input(X))
    assert isinstance(Z, np.ndarray) and Z.shape == (6, 4 * 36)
    assert not module.training and module[1].num_batches_tracked == 0
    x = torch.from_numpy(X / 255).float()
    np.testing.assert_allclose(Z, module(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(backbone.transform(X / 255), Z, rtol=1e-5, atol=1e-6)
    on_device = backbone.transform(torch.from_numpy(X))
    assert isinstance(on_device, torch.Tensor)
    np.testing.assert_allclose(on_device.numpy(), Z, rtol=1e-5, atol=1e-6)
    assert repr(backbone) == "CallableBackbone(Sequential)"


def test_a_function_of_arrays_gets_arrays_from_a_device_too():
    torch = pytest.importorskip("torch")
    Z = CallableBackbone(means).transform(torch.from_numpy(X))
    assert isinstance(Z, torch.Tensor)
    np.testing.assert_allclose(Z.numpy(), means(X), rtol=1e-6)


def test_a_classifier_learns_behind_a_function(tasks):
    task = tasks[0]
    model = CLSNet(backbone=lambda X: X.reshape(len(X), -1) / 16, device="cpu")
    model.partial_fit(task.X_train, task.y_train)
    assert model.score(task.X_test, task.y_test) > 0.9
