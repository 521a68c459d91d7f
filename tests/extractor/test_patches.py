import functools

import numpy as np
import pytest
from sklearn.datasets import load_digits

from clsnet.errors import ClsnetError
from clsnet.extractor import Patches
from clsnet.extractor.backbones.cells import OVERLAP
from clsnet.extractor.backbones.patch_filters import LEAST_VARIANCE
from clsnet.extractor.backbones.patches import N_LEAVES
from clsnet.extractor.graph import Graph
from clsnet.images.dead_leaves import dead_leaves

DIGITS = load_digits().images


def fitted(X=DIGITS, seed=0, **options):
    backbone = Patches(**{"filters": 4, "sizes": (3,), "pool": 2, **options})
    backbone.fit(X, np.random.RandomState(seed))
    return backbone


@functools.cache
def on_digits(**options):
    return fitted(**options)


def features(backbone, X):
    return backbone.transform(backbone.as_input(X))


def literal_weight(position, length, cell, cells):
    """Weight of one position in one cell along one side of the image."""

    def triangle(i):
        return max(0.0, 1 - abs((i + 0.5) * cells / length - cell - 0.5) / OVERLAP)

    return triangle(position) / sum(triangle(i) for i in range(length))


def literal_cells(backbone, image):
    """Cell averages of both signs, in the order of the features, by loops over windows."""
    out, pool = [], backbone.pool
    for size in backbone.sizes:
        padded = np.pad(image, size // 2)
        height, width = (length - size + 1 for length in padded.shape)
        bank = getattr(backbone, f"bank{size}")[:, 0].astype(float)
        contrasts = np.repeat(backbone.contrast, backbone.filters)
        for sign in (1, -1):
            for kernel, flat in zip(bank, contrasts, strict=True):
                cells = np.zeros((pool, pool))
                for i in range(height):
                    for j in range(width):
                        window = padded[i : i + size, j : j + size]
                        response = (window * kernel).sum() / np.sqrt(window.var() + flat)
                        for a in range(pool):
                            for b in range(pool):
                                weight = literal_weight(i, height, a, pool)
                                weight *= literal_weight(j, width, b, pool)
                                cells[a, b] += weight * max(0.0, sign * response)
                out.append(cells.ravel())
    return np.concatenate(out)


@pytest.mark.parametrize(
    "contrast, sizes, mirror",
    [((1e-3,), (3,), False), ((1e-3,), (3,), True), ((1e-4, 1e-1), (2, 5), False)],
)
def test_features_equal_loops_over_windows(contrast, sizes, mirror):
    options = {"contrast": contrast, "sizes": sizes, "mirror": mirror}
    backbone = on_digits(filters=2, **options)
    image = DIGITS[5][:6]
    expected = np.sqrt(literal_cells(backbone, image / DIGITS.max()))
    if mirror:
        flipped = literal_cells(backbone, image[:, ::-1] / DIGITS.max())
        expected = (expected + np.sqrt(flipped)) / 2
    centre = backbone.centre
    np.testing.assert_allclose(features(backbone, image[None])[0], expected - centre, atol=1e-3)
    assert expected.std() > 0.05


def test_features_of_the_synthetic_images_average_to_zero():
    leaves = dead_leaves(N_LEAVES, np.random.RandomState(0))
    backbone = on_digits()
    Z = backbone.transform(leaves.astype(np.float32))
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-5)
    assert Z.std(axis=0).min() > 1e-3


def normalised_windows(images, size, flat):
    windows = np.lib.stride_tricks.sliding_window_view(images, (size, size), axis=(1, 2))
    windows = windows.reshape(-1, size * size)
    windows = windows - windows.mean(axis=1, keepdims=True)
    variance = windows.var(axis=1, keepdims=True)
    return (windows / np.sqrt(variance + flat))[variance[:, 0] > LEAST_VARIANCE]


def test_filters_sum_to_zero_and_whiten_the_windows():
    bank = on_digits(filters=30, sizes=(6,)).bank6.reshape(30, 36)
    np.testing.assert_allclose(bank.sum(axis=1), 0, atol=1e-5)
    windows = normalised_windows(dead_leaves(200, np.random.RandomState(7)), 6, 1e-3)
    deviation = (windows @ bank.T).std(axis=0)
    raw = windows[:: len(windows) // 30][:30]
    raw = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    unwhitened = (windows @ raw.T).std(axis=0)
    assert deviation.max() < 1.1
    assert unwhitened.max() > 2

    def correlation(filters):
        off = np.corrcoef((windows @ filters.T).T)[~np.eye(30, dtype=bool)]
        return abs(off).mean()

    assert correlation(bank) < correlation(raw) / 2


def test_map_from_leaves_is_independent_of_the_data():
    one, two = fitted(DIGITS[:100]), fitted(16 * np.random.default_rng(0).permutation(DIGITS) / 16)
    assert np.array_equal(one.bank3, two.bank3)
    assert np.array_equal(one.centre, two.centre)
    np.testing.assert_array_equal(features(one, DIGITS[:5]), features(two, DIGITS[:5]))


def test_map_from_the_task_depends_on_its_images():
    one, two = (fitted(X, source="task") for X in (DIGITS[:100], DIGITS[100:200]))
    assert not np.array_equal(one.bank3, two.bank3)
    assert np.array_equal(one.bank3, fitted(DIGITS[:100], source="task").bank3)


def test_map_follows_from_its_seed():
    assert np.array_equal(on_digits(seed=3).bank3, fitted(seed=3).bank3)
    assert not np.array_equal(on_digits(seed=3).bank3, on_digits(seed=4).bank3)


def test_brightness_is_relative_to_255_of_bytes_and_to_the_brightest_value_of_other_images():
    backbone = on_digits()
    factors = 10.0 ** np.random.default_rng(0).integers(-9, 9, (5, 1, 1))
    expected = features(backbone, DIGITS[:5])
    np.testing.assert_allclose(features(backbone, factors * DIGITS[:5]), expected, atol=1e-5)
    as_bytes = DIGITS[:5].astype(np.uint8)
    seen = backbone.transform((as_bytes / 255).astype(np.float32))
    np.testing.assert_allclose(features(backbone, as_bytes), seen, atol=1e-5)
    assert abs(seen - expected).max() > 0.01


def test_a_map_of_version_0_1_keeps_the_brightest_value_that_it_was_fitted_to():
    backbone = on_digits()
    older = Patches(**backbone.config)
    older.restore({**backbone.state(), "peak": np.array(32, np.float32)})
    expected = backbone.transform((DIGITS[:5] / 32).astype(np.float32))
    np.testing.assert_array_equal(features(older, DIGITS[:5]), expected)
    np.testing.assert_array_equal(features(older, DIGITS[:5].astype(np.uint8)), expected)


def test_channels_are_represented_one_by_one():
    X = DIGITS[:30].reshape(10, 3, 8, 8).copy()
    X[:, :, 0, 0] = DIGITS.max()  # of each channel, so that it is as bright alone
    backbone = on_digits()
    single = features(backbone, X.reshape(30, 8, 8)).reshape(10, -1)
    np.testing.assert_allclose(features(fitted(X), X), single, atol=1e-5)


@pytest.mark.parametrize("side", [1, 2, 3, 5])
@pytest.mark.parametrize("sizes", [(3,), (4, 11)])
def test_images_smaller_than_a_filter_have_finite_features(side, sizes):
    X = np.random.default_rng(0).uniform(0, 16, size=(4, side, side))
    Z = features(on_digits(filters=2, sizes=sizes, pool=5), X)
    assert Z.shape == (4, len(sizes) * 2 * 2 * 25)
    assert np.isfinite(Z).all()


def test_map_can_be_fitted_to_a_single_pixel():
    pixel = np.ones((1, 1, 1))
    assert np.isfinite(features(fitted(pixel), pixel)).all()


@pytest.mark.parametrize("shape", [(5, 9), (2, 7, 8)])
def test_number_of_features_depends_on_channels_and_not_on_size(shape):
    X = np.random.default_rng(0).uniform(size=(3, *shape))
    channels = shape[0] if len(shape) == 3 else 1
    backbone = fitted(X, filters=3, sizes=(2, 4), contrast=(1e-3, 0.1), pool=3)
    assert features(backbone, X).shape == (3, channels * 2 * 2 * 2 * 3 * 9)


@pytest.mark.parametrize("mirror", [False, True])
def test_features_of_an_image_ignore_the_rest_of_the_batch(mirror):
    backbone = on_digits(mirror=mirror)
    together = features(backbone, DIGITS[:20])
    alone = np.concatenate([features(backbone, DIGITS[i : i + 1]) for i in range(20)])
    np.testing.assert_array_equal(together, alone)


def test_mirrored_features_are_those_of_the_mirror_image():
    backbone = on_digits(mirror=True)
    flipped = DIGITS[:5, :, ::-1]
    np.testing.assert_allclose(
        features(backbone, flipped), features(backbone, DIGITS[:5]), atol=1e-5
    )
    assert abs(features(on_digits(), flipped) - features(on_digits(), DIGITS[:5])).max() > 0.05


def test_black_images_are_finite():
    black = np.zeros((2, 8, 8))
    assert np.isfinite(features(fitted(black), black)).all()


@pytest.mark.parametrize("shape", [(5, 64), (5,), (5, 1, 1, 8, 8)])
def test_what_is_no_image_is_refused(shape):
    with pytest.raises(ClsnetError, match="needs images"):
        fitted(np.ones(shape))


@pytest.mark.parametrize("X, message", [(np.ones((9, 8, 8)), "flat"), (DIGITS[:9, :2], "smaller")])
def test_images_that_give_no_patches_are_refused_with_another_source(X, message):
    with pytest.raises(ClsnetError, match=f"{message}.*use source='leaves'"):
        fitted(X, source="task")


def test_dead_leaves_follow_from_the_seed_and_lie_between_black_and_white():
    one, again, other = (dead_leaves(20, np.random.RandomState(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert abs(one - other).max() > 0.5
    assert 0 <= one.min() < 0.1
    assert 0.9 < one.max() <= 1
    assert one.std(axis=(1, 2)).min() > 0.01


def test_config_rebuilds_the_backbone():
    backbone = Patches(filters=3, sizes=(2, 4), mirror=True)
    assert Patches(**backbone.config).config == backbone.config
    assert "filters=3, sizes=(2, 4)" in repr(backbone)


PRESETS = {
    "fast": {"filters": 32, "sizes": (5,), "pool": 5},
    "small": {"filters": 7, "sizes": (4, 6, 8, 11, 15), "mirror": True, "pool": 5},
    "best": {
        "filters": 21,
        "sizes": (3, 4, 6, 8, 11, 15),
        "contrast": (1e-4, 1e-1),
        "mirror": True,
        "pool": 5,
    },
}


@pytest.fixture(params=["1", "3"], ids=["one thread", "three threads"])
def threads(request, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", request.param)


@pytest.mark.parametrize("preset", PRESETS)
def test_an_image_has_the_same_features_in_any_batch_to_the_bit(preset, threads):
    X = dead_leaves(60, np.random.RandomState(1))
    backbone = on_digits(**PRESETS[preset])
    together = features(backbone, X)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(features(backbone, X[order]), together[order])
    for rows in (slice(0, 1), slice(17, 18), slice(31, 34), slice(5, 60)):
        np.testing.assert_array_equal(features(backbone, X[rows]), together[rows])


def test_threads_do_not_change_a_bit(monkeypatch):
    X = dead_leaves(200, np.random.RandomState(1))
    found = []
    for number in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", number)
        found.append(features(on_digits(**PRESETS["fast"]), X))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("options", [{"mirror": True}, {"sizes": (2, 5), "contrast": (1e-4, 0.1)}])
def test_tensors_give_what_arrays_give(options):
    torch = pytest.importorskip("torch")
    backbone = fitted(**options)
    expected = features(backbone, DIGITS[:20])
    backbone.to(torch.device("cpu"))
    Z = backbone.transform(torch.from_numpy(backbone.as_input(DIGITS[:20])))
    assert isinstance(Z, torch.Tensor) and Z.dtype == torch.float32
    np.testing.assert_allclose(Z.numpy(), expected, atol=2e-4)


def test_features_are_in_single_precision_and_input_is_a_copy():
    backbone, X = on_digits(), DIGITS[:3].astype(np.float32)
    assert features(backbone, X).dtype == np.float32
    backbone.as_input(X)[:] = 0
    x = backbone.as_input(X)
    before = x.copy()
    backbone.transform(x)
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(X, DIGITS[:3])


def test_state_rebuilds_the_map():
    backbone = on_digits(mirror=True)
    again = Patches(**backbone.config)
    assert again.state().keys() == {"peak", "centre", "bank3"} == backbone.state().keys()
    again.restore(backbone.state())
    np.testing.assert_array_equal(features(again, DIGITS[:5]), features(backbone, DIGITS[:5]))


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 9, 12), (2, 2, 3)])
@pytest.mark.parametrize("options", [{"mirror": True}, {"sizes": (2, 5), "contrast": (1e-4, 0.1)}])
def test_graph_computes_the_same(shape, options, run_graph):
    X = np.random.default_rng(0).integers(0, 256, (4, *shape), dtype=np.uint8)
    backbone = fitted(X, **options)
    found = run_graph(backbone.write_graph, X)
    np.testing.assert_allclose(found, features(backbone, X), atol=1e-4)


def test_graph_needs_images_of_a_known_size():
    pytest.importorskip("onnx")
    graph = Graph()
    images = graph.input("x", np.uint8, ("n", 3, "height", 8))
    with pytest.raises(ClsnetError, match="needs images of a known size to export"):
        on_digits().write_graph(graph, images)


def test_filters_that_were_drawn_before_are_the_same_and_belong_to_nobody_else():
    one, two = np.random.RandomState(3), np.random.RandomState(3)
    first, second = Patches(filters=3), Patches(filters=3)
    first.fit(DIGITS[:2], one)
    drawn = {name: getattr(first, name).copy() for name in first.fitted}
    first.bank4 *= 2
    first.centre += 1
    second.fit(DIGITS[2:5], two)
    for name, array in drawn.items():
        np.testing.assert_array_equal(getattr(second, name), array)
    assert one.uniform() == two.uniform()
    second.fit(DIGITS[2:5], two)  # further on in the random numbers
    assert not np.array_equal(second.bank4, drawn["bank4"])
    other = Patches(filters=3, pool=4)
    other.fit(DIGITS[:2], np.random.RandomState(3))
    np.testing.assert_array_equal(other.bank4, drawn["bank4"])
    assert other.centre.size != second.centre.size
