import copy
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits

from clsnet.arrays.devices import device_of, to_device, to_numpy
from clsnet.errors import ClsnetError
from clsnet.evaluation.reachable import reachable_arrays
from clsnet.extractor import Augmentation, Backbone, Extractor, Identity, Patches
from clsnet.extractor.extractor import FIT_SAMPLES

CPU = "cpu"
IMAGES = load_digits().images
VECTORS = IMAGES.reshape(len(IMAGES), -1)
DEMO = {"connection": "G*", "unit": True, "tanh_nodes": 6, "relu_nodes": 9, "weights": "normal"}


def extractor(backbone=None, seed=0, **options):
    augmentation = Augmentation(**{"groups": 2, "group_size": 5, **options})
    return Extractor(backbone or Identity(), augmentation, seed)


def small_patches():
    return Patches(filters=3, sizes=(3,), pool=2)


CASES = {
    "vectors Z": (VECTORS, None, {"connection": "Z"}),
    "vectors G": (VECTORS, None, {"connection": "G"}),
    "vectors A": (VECTORS, None, {"connection": "A"}),
    "vectors demo": (VECTORS, None, DEMO),
    "images A": (IMAGES, small_patches, {"connection": "A"}),
}


@pytest.fixture(params=["numpy", "torch"], scope="module")
def device(request):
    return "cpu" if request.param == "numpy" else pytest.importorskip("torch").device("cpu")


@pytest.fixture(params=CASES, scope="module")
def case(request, device):
    X, backbone, options = CASES[request.param]
    return X, extractor(backbone and backbone(), seed=4, **options).fit(X[:100], device)


def represented(g, X):
    return to_numpy(g.transform(X))


def test_representations_are_the_augmentation_of_the_backbone(case):
    X, g = case
    A = represented(g, X[:7])
    assert A.shape == (7, g.dimension)
    x = to_device(g.backbone.as_input(X[:7]), g.device)
    expected = to_numpy(g.augmentation.transform(g.backbone.transform(x)))
    np.testing.assert_allclose(A, expected, rtol=1e-5, atol=1e-5)


def test_representation_of_a_sample_ignores_the_rest_of_the_batch(case):
    X, g = case
    together = represented(g, X[100:120])
    alone = np.concatenate([represented(g, X[i : i + 1]) for i in range(100, 120)])
    tolerance = 1e-9 if together.dtype == np.float64 else 1e-3
    np.testing.assert_allclose(together, alone, rtol=tolerance, atol=tolerance)


def test_more_samples_than_a_batch_are_represented_alike(case):
    X, g = case
    n = 1200 if X is VECTORS else 150
    whole, half = represented(g, X[:n]), represented(g, X[n // 2 : n])
    np.testing.assert_allclose(whole[n // 2 :], half, rtol=1e-3, atol=1e-3)


def test_refitted_to_the_same_samples_is_the_same_map(case):
    X, g = case
    again = g.refitted(X[:100], g.device)
    assert again is not g
    assert np.array_equal(represented(again, X[:9]), represented(g, X[:9]))


def test_refitting_leaves_the_original_alone(case):
    X, g = case
    before = represented(g, X[:9]).copy()
    g.refitted(X[200:300] + 1, g.device)
    assert np.array_equal(represented(g, X[:9]), before)


def test_another_seed_is_another_map():
    one, two = (extractor(seed=s, connection="G").fit(VECTORS[:100], CPU) for s in (1, 2))
    assert not np.array_equal(one.augmentation.weight, two.augmentation.weight)


def test_random_numbers_do_not_depend_on_how_many_samples_there_are():
    many = np.random.default_rng(0).standard_normal((FIT_SAMPLES + 1, 2))
    g = extractor(connection="G", tanh_nodes=4, relu_nodes=3).fit(many, CPU)
    few = g.refitted(many[:50], CPU)
    assert np.array_equal(g.augmentation.weight, few.augmentation.weight)
    assert np.array_equal(g.augmentation.relu_weight, few.augmentation.relu_weight)
    assert np.array_equal(g.augmentation.relu_bias, few.augmentation.relu_bias)


def test_filters_and_nodes_of_images_do_not_depend_on_how_many_images_there_are():
    g = extractor(small_patches(), connection="G").fit(IMAGES[:100], CPU)
    few = g.refitted(IMAGES[100:117], CPU)
    assert np.array_equal(g.backbone.bank3, few.backbone.bank3)
    assert np.array_equal(g.augmentation.weight, few.augmentation.weight)


def test_a_large_task_is_fitted_to_a_sample_that_follows_from_the_seed():
    many = np.random.default_rng(0).standard_normal((FIT_SAMPLES + 500, 2))
    one, again, other = (extractor(seed=s, connection="Z").fit(many, CPU) for s in (1, 1, 2))
    assert np.array_equal(one.backbone.shift, again.backbone.shift)
    assert not np.array_equal(one.backbone.shift, other.backbone.shift)
    np.testing.assert_allclose(one.backbone.shift, many.mean(axis=0), atol=0.02)


def test_remembered_features_are_used_again_and_only_within_the_context():
    g = extractor().fit(VECTORS[:100], CPU)
    features = {}
    with g.remembering(features):
        first = g.transform(VECTORS[:50])
        assert g.transform(VECTORS[:50]) is first
        other = g.transform(VECTORS[50:100])
        assert not np.array_equal(other, first)
        assert len(features) == 2
    outside = g.transform(VECTORS[:50])
    assert outside is not first
    assert np.array_equal(outside, first)
    assert len(features) == 2


def test_remembered_features_tell_views_of_one_array_apart():
    g = extractor(connection="Z").fit(VECTORS[:100], CPU)
    X = VECTORS[:40].copy()
    with g.remembering({}):
        for view in (X, X[:20], X[::2], X[::-1], X[5:25]):
            expected = g.augmentation.transform(g.backbone.transform(g.backbone.as_input(view)))
            assert np.array_equal(g.transform(view), expected)


STATE = {f"augmentation.{name}" for name in Augmentation().state()}


@pytest.mark.parametrize(
    "X, backbone, names",
    [
        (VECTORS, Identity, {"backbone.shift", "backbone.factor"}),
        (IMAGES, small_patches, {"backbone.peak", "backbone.centre", "backbone.bank3"}),
    ],
)
def test_state_rebuilds_the_map_on_either_device(X, backbone, names, device):
    g = extractor(backbone()).fit(X[:100], device)
    state = {name: to_numpy(value) for name, value in g.state().items()}
    assert state.keys() == names | STATE
    again = extractor(backbone())
    again.restore(state)
    assert again.to(device) is again
    assert again.device == device == device_of(again.transform(X[:5]))
    np.testing.assert_array_equal(represented(again, X[:5]), represented(g, X[:5]))


def test_moving_to_a_device_and_back_changes_nothing(case):
    X, g = case
    torch = pytest.importorskip("torch")
    before, home = represented(g, X[:5]), g.device
    shapes = {name: value.shape for name, value in g.state().items()}
    g.to(torch.device("cpu")).to("cpu")
    assert {name: value.shape for name, value in g.state().items()} == shapes
    g.to(home)
    np.testing.assert_array_equal(represented(g, X[:5]), before)


def test_devices_agree(device):
    for X, backbone, options in CASES.values():
        one, other = (
            extractor(backbone and backbone(), seed=4, **options).fit(X[:100], place)
            for place in ("cpu", device)
        )
        tanh = "tanh_nodes" in options  # magnifies what was rounded
        found, expected = represented(other, X[:9]), represented(one, X[:9])
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, atol=1e-2 if tanh else 2e-4)


@pytest.mark.parametrize("backbone", [Identity, small_patches])
def test_graph_computes_the_same(backbone, run_graph):
    X = np.round(IMAGES[:60].reshape(20, 3, 8, 8) * 255 / 16).astype(np.uint8)
    g = extractor(backbone()).fit(X, "cpu")
    np.testing.assert_allclose(run_graph(g.write_graph, X), g.transform(X), atol=1e-4)


def test_a_backbone_that_has_no_graph_cannot_be_exported(run_graph):
    class Plain(Identity):
        write_graph = Backbone.write_graph

    g = extractor(Plain()).fit(IMAGES[:20], "cpu")
    with pytest.raises(ClsnetError, match=r"Plain\(scale='standard'\) cannot be exported"):
        run_graph(g.write_graph, IMAGES[:20])


def test_nothing_but_a_network_is_referred_to():
    g = extractor()
    assert g.referred_mb == 0.0 and g.backbone.fingerprint == "" and not g.backbone.held
    with pytest.raises(ClsnetError, match="identity is not one that a model holds"):
        Identity.restored({}, {}, {})


@pytest.mark.parametrize("connection", ["G", "Z+G"])
@pytest.mark.parametrize("backbone", [Identity, small_patches])
def test_random_weights_are_left_out_of_copies_and_files_and_drawn_again(connection, backbone):
    X = VECTORS if backbone is Identity else IMAGES
    g = extractor(backbone(), connection=connection).fit(X[:100], CPU)
    inputs, nodes = g.augmentation.weight.shape
    assert nodes > 0 and g.state()["augmentation.weight"].shape == (inputs, 0)
    kept = sum(value.size for value in g.state().values())
    assert reachable_arrays(g).least <= kept
    again = extractor(backbone(), connection=connection)
    again.restore(g.state())
    for twin in (again, copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        assert np.array_equal(represented(twin, X[:9]), represented(g, X[:9]))


def test_tuned_weights_are_kept():
    g = extractor(connection="A").fit(VECTORS[:100], CPU)
    assert g.state()["augmentation.weight"] is g.augmentation.weight
    assert np.array_equal(copy.deepcopy(g).augmentation.weight, g.augmentation.weight)


def test_weights_that_an_older_file_holds_are_taken_as_they_are():
    g = extractor(connection="G").fit(VECTORS[:100], CPU)
    state = {**g.state(), "augmentation.weight": g.augmentation.weight + 1}
    g.restore(state)
    assert np.array_equal(g.augmentation.weight, state["augmentation.weight"])
