import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones import Patches, is_photograph, resolve_backbone
from clsnet.extractor.backbones.convolution import Map
from clsnet.extractor.backbones.network import N_LEAVES, Network, _coloured_leaves
from clsnet.extractor.backbones.resizing import resized
from clsnet.extractor.backbones.tapped import TappedGraph
from clsnet.extractor.graph import Graph

SIZE = 12
MEAN, DEVIATION = (0.4, 0.5, 0.6), (0.2, 0.25, 0.3)
IMAGES = np.random.default_rng(0).integers(0, 256, (7, 3, SIZE, SIZE), dtype=np.uint8)
WIDTH = 4 + 4 + 16 + 5 + 5


class TappedTiny(TappedGraph):
    """Two convolutions with a ReLU between them."""

    in_cells = (0,)

    def write_maps(self, graph, x):
        first = self._convolution(graph, "0", x.value, 1)
        second = self._convolution(graph, "1.0", graph.node("Relu", first), 2)
        return [Map(first, 4, x.side - 2), Map(second, 5, (x.side - 5) // 2 + 1)]

    def _convolution(self, graph, name, x, stride):
        weights = (graph.constant(self.state[f"{name}.{kind}"]) for kind in ("weight", "bias"))
        return graph.node("Conv", x, *weights, kernel_shape=[3, 3], strides=[stride] * 2)


class Tiny(Network):
    name = "tiny"

    def __init__(self, seed=0, taps="several", views=2, size=SIZE):
        random = np.random.RandomState(seed)
        shapes = {
            "0.weight": (4, 3, 3, 3),
            "0.bias": (4,),
            "1.0.weight": (5, 4, 3, 3),
            "1.0.bias": (5,),
        }
        state = {k: random.uniform(-0.3, 0.3, v).astype(np.float32) for k, v in shapes.items()}
        super().__init__(TappedTiny(state, taps), size, MEAN, DEVIATION, views)
        self.seed = seed


def fitted(X=IMAGES, **options):
    backbone = Tiny(**options)
    backbone.fit(X, np.random.RandomState(0))
    return backbone


def features(backbone, X):
    return backbone.transform(backbone.as_input(X))


def literal_convolution(x, weight, bias, stride):
    """One window after another."""
    side = (x.shape[-1] - 3) // stride + 1
    out = np.empty((len(weight), side, side))
    for i in range(side):
        for j in range(side):
            window = x[:, stride * i : stride * i + 3, stride * j : stride * j + 3]
            out[:, i, j] = (weight * window).sum(axis=(1, 2, 3)) + bias
    return out


def literal_maps(backbone, x):
    state = {name: value.astype(float) for name, value in backbone.weights_state().items()}
    first = literal_convolution(x, state["0.weight"], state["0.bias"], 1)
    second = literal_convolution(np.maximum(first, 0), state["1.0.weight"], state["1.0.bias"], 2)
    return first, second


def quadratic_mean(outputs):
    return np.sqrt((outputs**2).mean(axis=(1, 2)))


def literal_views(x, number):
    """An image, its mirror image, centre and corners scaled up; those to the right mirrored."""
    seen = [x, x[:, :, ::-1]]
    for top, left, mirrored in ((1, 1, 0), (0, 0, 0), (2, 0, 0), (1, 1, 1), (0, 2, 1), (2, 2, 1)):
        [crop] = resized(x[None, :, top : top + 10, left : left + 10].astype(np.float32), 12, 12)
        seen.append(crop[:, :, ::-1] if mirrored else crop)
    return seen[:number]


def literal_features(backbone, images, views, cells=True):
    """Pooled, rooted outputs of each image, in the order of the features."""
    rows = []
    for image in images:
        x = (image / 255 - np.reshape(MEAN, (3, 1, 1))) / np.reshape(DEVIATION, (3, 1, 1))
        turns = []
        for view in literal_views(x, views):
            first, second = literal_maps(backbone, view.astype(float))
            parts = [first.mean(axis=(1, 2)), quadratic_mean(first)]
            if cells:
                half = first.shape[-1] // 2
                quarters = [
                    first[:, i : i + half, j : j + half].mean(axis=(1, 2))
                    for i in (0, half)
                    for j in (0, half)
                ]
                parts.append(np.stack(quarters, axis=1).ravel())
            parts += [second.mean(axis=(1, 2)), quadratic_mean(second)]
            v = np.concatenate(parts)
            turns.append(np.sign(v) * np.sqrt(abs(v)))
        rows.append(np.mean(turns, axis=0))
    return np.array(rows)


@pytest.mark.parametrize("views", [1, 2, 8])
def test_features_are_the_signed_roots_of_pooled_outputs_standardised(views):
    backbone = fitted(views=views)
    raw = literal_features(backbone, IMAGES, views)
    assert raw.shape == (7, WIDTH)
    expected = (raw - backbone.centre) * backbone.factor
    np.testing.assert_allclose(features(backbone, IMAGES), expected, atol=1e-4)
    assert (raw < 0).any() and (raw > 0).any()


def test_many_taps_are_the_several_and_the_same_at_one_and_a_half_times_the_size_without_cells():
    backbone = fitted(taps="many", views=1)
    large = resized((IMAGES / 255).astype(np.float32), 18, 18)
    raw = [
        literal_features(backbone, IMAGES, views=1),
        literal_features(backbone, 255 * large, views=1, cells=False),
    ]
    assert raw[1].shape == (7, WIDTH - 16)
    expected = (np.concatenate(raw, axis=1) - backbone.centre) * backbone.factor
    np.testing.assert_allclose(features(backbone, IMAGES), expected, atol=1e-3)
    several = fitted(views=1)
    np.testing.assert_allclose(
        features(backbone, IMAGES)[:, :WIDTH], features(several, IMAGES), atol=1e-4
    )


def test_last_taps_are_the_pooled_last_layer_alone():
    backbone = Tiny(taps="last", views=1)
    x = backbone.normalised(IMAGES).astype(float)
    v = np.array([literal_maps(backbone, image)[1].mean(axis=(1, 2)) for image in x])
    np.testing.assert_allclose(features(backbone, IMAGES), np.sign(v) * abs(v) ** 0.5, atol=1e-4)


def test_synthetic_images_are_centred_and_scaled_with_a_floor():
    backbone = fitted()
    leaves = resized(_coloured_leaves().astype(np.float32), SIZE, SIZE)
    raw = literal_features(backbone, leaves, views=2)
    deviation = raw.std(axis=0)
    np.testing.assert_allclose(backbone.centre, raw.mean(axis=0), atol=1e-4)
    expected = 1 / np.maximum(deviation, 0.1 * deviation.mean())
    np.testing.assert_allclose(backbone.factor, expected, rtol=1e-3)


def test_feature_that_never_varies_stays_finite():
    backbone = Tiny()
    for tensor in backbone.weights_state().values():
        tensor[:] = 0
    backbone.fit(IMAGES, np.random.RandomState(0))
    assert np.isfinite(features(backbone, IMAGES)).all()


def test_synthetic_images_are_coloured_and_always_the_same():
    one, again = _coloured_leaves(), _coloured_leaves()
    assert one.shape == (N_LEAVES, 3, 28, 28) and one.dtype == np.uint8
    np.testing.assert_array_equal(one, again)
    assert abs(one[:, 0].astype(int) - one[:, 1]).mean() > 30


def test_map_depends_on_neither_the_task_nor_the_seed():
    """So the fingerprint tells all that features follow from, and they can be kept by it."""
    backbone = fitted(IMAGES[:2])
    other = Tiny()
    other.fit(255 - IMAGES, np.random.RandomState(9))
    np.testing.assert_array_equal(backbone.centre, other.centre)
    np.testing.assert_array_equal(backbone.factor, other.factor)


@pytest.mark.parametrize("options", [{}, {"taps": "many"}, {"views": 8}, {"size": 31}], ids=str)
def test_features_of_an_image_ignore_the_rest_of_the_batch_to_the_bit(options):
    backbone = fitted(**{**options, "taps": "last"} if "size" in options else options)
    together = features(backbone, IMAGES)
    alone = np.concatenate([features(backbone, IMAGES[i : i + 1]) for i in range(7)])
    np.testing.assert_array_equal(together, alone)
    assert features(backbone, IMAGES[:0]).shape == (0, together.shape[1])


def test_other_numbers_of_views_are_refused():
    with pytest.raises(ClsnetError, match="unknown number of views 5: use 1, 2 or 8"):
        Tiny(views=5)


def test_mirror_image_has_the_same_features():
    flipped = IMAGES[..., ::-1]
    backbone, plain = fitted(), fitted(views=1)
    np.testing.assert_allclose(features(backbone, flipped), features(backbone, IMAGES), atol=1e-4)
    assert abs(features(plain, flipped) - features(plain, IMAGES)).max() > 0.1


def test_bytes_stay_bytes_until_they_are_normalised():
    x = Tiny().as_input(IMAGES)
    assert x.dtype == np.uint8
    x[:] = 0
    assert IMAGES.any()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_fractions_of_one_are_the_same_images_as_bytes(dtype):
    backbone = fitted()
    fractions = (IMAGES / 255).astype(dtype)
    tolerance = 0.05 if dtype == np.float16 else 1e-3
    np.testing.assert_allclose(
        features(backbone, fractions), features(backbone, IMAGES), atol=tolerance
    )


def test_integers_are_the_same_images_as_bytes():
    backbone = fitted()
    np.testing.assert_array_equal(
        features(backbone, IMAGES.astype(np.int64)), features(backbone, IMAGES)
    )


def test_grey_images_are_colour_images_with_equal_channels():
    backbone = fitted()
    grey = IMAGES[:, 0]
    expected = features(backbone, np.repeat(grey[:, None], 3, axis=1))
    np.testing.assert_allclose(features(backbone, grey), expected, atol=1e-5)
    np.testing.assert_allclose(features(backbone, grey[:, None]), expected, atol=1e-5)


def test_images_of_other_sizes_are_resized_by_averaging():
    large = IMAGES.repeat(4, axis=2).repeat(4, axis=3)
    backbone = Tiny()
    small = backbone.normalised(large)
    assert small.shape == (7, 3, SIZE, SIZE)
    exact = backbone.normalised(IMAGES)
    correlation = np.corrcoef(small.flatten(), exact.flatten())[0, 1]
    assert correlation > 0.9
    noise = np.random.default_rng(1).integers(0, 256, (1, 8 * SIZE, 8 * SIZE), dtype=np.uint8)
    assert backbone.normalised(noise).std() < 0.5
    assert features(backbone, np.zeros((2, 5, 40), dtype=np.uint8)).shape == (2, WIDTH)


@pytest.mark.parametrize("shape", [(5, 64), (5,), (5, 2, 8, 8), (5, 4, 8, 8), (1, 1, 1, 8, 8)])
def test_what_is_no_image_is_refused(shape):
    with pytest.raises(ClsnetError, match=r"the tiny backbone needs images, .*not an array"):
        fitted(np.ones(shape, dtype=np.uint8))


@pytest.mark.parametrize("X", [IMAGES.astype(float), IMAGES / 127.5 - 1, IMAGES.astype(int) + 9])
def test_values_out_of_range_are_refused(X):
    with pytest.raises(ClsnetError, match=r"0 to 255 as integers, or of 0 to 1.*not (fl|in)"):
        Tiny().as_input(X)


def test_unknown_taps_name_the_known_ones():
    with pytest.raises(ClsnetError, match="unknown taps 'first': use 'several', 'many' or 'last'"):
        Tiny(taps="first")


def test_saved_state_holds_the_standardisation_and_not_the_network():
    backbone = fitted()
    assert set(backbone.state()) == {"centre", "factor"}
    assert set(backbone.weights_state()) == {"0.weight", "0.bias", "1.0.weight", "1.0.bias"}
    numbers = 4 * 27 + 4 + 5 * 36 + 5
    assert backbone.referred_mb == 4 * numbers / 2**20
    backbone.held = True
    assert backbone.referred_mb == 0


def test_a_network_normalises_bytes_itself_only_where_that_rounds_alike():
    backbone = fitted()
    assert backbone._run_bytes is None
    backbone.deviation = np.full((3, 1, 1), 0.25 / 255, np.float32)
    assert backbone._with_bytes(backbone._runtimes[SIZE]) is not None


def test_copies_share_the_network_and_nothing_else():
    one = fitted()
    two = copy.deepcopy(one)
    assert two._runtimes[SIZE] is one._runtimes[SIZE]
    two.centre += 1
    assert (one.centre != two.centre).all()


@pytest.mark.parametrize("options", [{}, {"taps": "many", "views": 8}], ids=str)
def test_features_are_the_same_in_torch(options):
    """As on a GPU, and the standardisation that was found there will do."""
    torch = pytest.importorskip("torch")
    one = fitted(**options)
    two = Tiny(**options)
    two.to(torch.device("cpu"))
    two.fit(IMAGES, np.random.RandomState(0))
    assert isinstance(two.centre, torch.Tensor)
    for X in (IMAGES, IMAGES[:, 0], (IMAGES / 255)[..., :9]):
        expected = features(one, X)
        found = two.transform(torch.from_numpy(two.as_input(X)))
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-4)
    again = copy.deepcopy(two)
    again.to("cpu")
    np.testing.assert_allclose(features(again, IMAGES), features(one, IMAGES), atol=1e-4)
    assert isinstance(two.centre, torch.Tensor)


@pytest.mark.parametrize("options", [{"views": 1}, {}, {"taps": "many", "views": 8}], ids=str)
@pytest.mark.parametrize("height, width", [(SIZE, SIZE), (20, 9)])
def test_graph_answers_the_same(options, height, width):
    onnxruntime = pytest.importorskip("onnxruntime")
    backbone = fitted(**options)
    graph = Graph()
    photos = graph.input("photos", np.uint8, ("n", height, width, 3))
    images = graph.node("Transpose", photos, perm=[0, 3, 1, 2])
    graph.output("Z", backbone.write_graph(graph, images))
    data = graph.serialised()
    assert len(graph.constants) < 60 and len(data) < 60_000  # the network is written once
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    X = np.random.default_rng(1).integers(0, 256, (5, 3, height, width), dtype=np.uint8)
    for rows in (slice(0, 1), slice(0, 5)):
        [Z] = session.run(None, {"photos": X[rows].transpose(0, 2, 3, 1)})
        np.testing.assert_allclose(Z, features(backbone, X[rows]), atol=1e-3)


def test_graph_needs_images_of_a_known_size():
    pytest.importorskip("onnx")
    graph = Graph()
    images = graph.input("images", np.uint8, ("n", 3, "height", "width"))
    with pytest.raises(ClsnetError, match="tiny backbone needs images of a known size to export"):
        Tiny().write_graph(graph, images)


def test_backbone_survives_pickling():
    backbone = fitted()
    again = pickle.loads(pickle.dumps(backbone))
    np.testing.assert_allclose(features(again, IMAGES), features(backbone, IMAGES), atol=1e-4)


def test_fingerprint_tells_networks_and_their_use_apart():
    assert Tiny().fingerprint == fitted().fingerprint
    others = [Tiny(seed=1), Tiny(taps="last"), Tiny(taps="many"), Tiny(views=1)]
    others.append(Tiny(size=SIZE + 1))
    assert len({backbone.fingerprint for backbone in [Tiny(), *others]}) == 6


def test_config_rebuilds_the_backbone():
    backbone = Tiny(3, taps="last", views=1)
    assert Tiny(**backbone.config).fingerprint == backbone.fingerprint
    assert repr(backbone) == "Tiny(seed=3, taps='last', views=1, size=12)"


def test_heavy_packages_are_not_imported_before_they_are_needed():
    code = (
        "import sys, clsnet.extractor.backbones.network\n"
        "import clsnet.extractor.backbones.efficientnet_lite, clsnet.extractor.backbones.resnet\n"
        "heavy = {'torch', 'sklearn', 'openvino', 'onnx', 'onnxruntime', 'transformers', 'timm'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "wrong, near",
    [("efficientnet", "efficientnet-lite0"), ("resnet1", "resnet18"), ("Patches", "patches")],
)
def test_unknown_backbone_names_the_nearest_and_every_form(wrong, near):
    with pytest.raises(ClsnetError) as refusal:
        resolve_backbone(wrong, (3, 8, 8))
    assert f"did you mean '{near}" in str(refusal.value)
    for form in (
        "identity",
        "patches",
        "efficientnet-lite0",
        "efficientnet-lite2",
        "resnet18:FILE",
        "FILE.safetensors",
        "hf:NAME",
        "timm:NAME",
    ):
        assert form in str(refusal.value)


@pytest.mark.parametrize("kind, what", [("resnet18", "FILE"), ("hf", "NAME"), ("timm", "NAME")])
def test_name_without_its_source_says_what_is_missing(kind, what):
    for name in (kind, f"{kind}:"):
        with pytest.raises(ClsnetError, match=f"{kind} needs to know which: {kind}:{what}"):
            resolve_backbone(name, (3, 8, 8))


def test_only_large_colour_images_are_photographs():
    shapes = [(3, 96, 96), (3, 300, 224), (3, 300, 64), (1, 224, 224), (224, 224), (784,)]
    assert [is_photograph(shape) for shape in shapes] == [True, True, False, False, False, False]
    assert type(resolve_backbone("auto", (3, 64, 64))) is Patches
