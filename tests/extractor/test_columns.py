import numpy as np
import pytest

from clsnet.arrays.devices import to_device, to_numpy
from clsnet.errors import ClsnetError
from clsnet.extractor import Augmentation, Extractor
from clsnet.extractor.backbones.columns import SCALES, Columns, nodes


def represented(X, seed=0, n_nodes=20, fit_on=None):
    backbone = Columns(n_nodes)
    backbone.fit(X[:1] if fit_on is None else fit_on, np.random.RandomState(seed))
    return backbone.transform(backbone.as_input(X))


def samples(n=30, d=5):
    return np.random.default_rng(0).standard_normal((n, d)) * 10.0 ** np.arange(-2, d - 2) + 7


def test_nodes_are_cosines_of_random_sums_of_logarithms():
    X = samples()
    seed = np.random.RandomState(0).randint(2**31)
    weights, phases = nodes(seed, 5, 20)
    expected = [list(x) for x in X]
    for row, x in zip(expected, X, strict=True):
        seen = [a * np.arcsinh(value / s) for a, s in SCALES for value in x]
        for weight, phase in zip(weights.T, phases, strict=True):
            angle = sum(w * v for w, v in zip(weight, seen, strict=True))
            row.append(np.cos(angle + phase) - np.cos(phase))
    np.testing.assert_allclose(represented(X), expected, rtol=1e-10, atol=1e-13)


def test_nodes_of_small_values_keep_all_their_digits():
    X = np.random.default_rng(0).standard_normal((30, 5))
    small, smaller = represented(1e-12 * X)[:, 5:], represented(1e-13 * X)[:, 5:]
    np.testing.assert_allclose(small, 10 * smaller, rtol=1e-8)  # linear, but for its curvature
    assert abs(small).min() > 0


def test_the_map_depends_on_the_seed_and_on_no_sample():
    X = samples()
    np.testing.assert_array_equal(represented(X, fit_on=1e6 * X[3:]), represented(X))
    assert not np.array_equal(represented(X, seed=1), represented(X))


def test_a_sample_is_mapped_alone_as_among_others():
    X = samples()
    np.testing.assert_allclose(represented(X)[4:5], represented(X[4:5]), rtol=1e-13)


@pytest.mark.parametrize("width", [1, 2, 700])
def test_vectors_of_every_width(width):
    assert represented(samples(3, 1) * np.ones(width)).shape == (3, width + 20)


def test_values_of_every_size_leave_nodes_finite():
    X = np.array([[1e300, -1e300, 1e-300, 0.0]])
    assert np.isfinite(represented(X)).all()


def test_bytes_and_integers_are_numbers_as_any_other():
    X = np.random.default_rng(0).integers(0, 256, (6, 4))
    np.testing.assert_array_equal(represented(X.astype(np.uint8)), represented(X.astype(float)))


def test_samples_that_have_no_square_are_refused():
    assert np.isfinite(represented(np.array([[1e-200, 1.0], [0.0, 0.0]]))).all()
    with pytest.raises(ClsnetError, match="too small to be squared; scale them up"):
        represented(1e-200 * samples())


def test_images_are_refused():
    with pytest.raises(ClsnetError, match="needs vectors"):
        Columns().fit(np.zeros((1, 3, 3)), np.random.RandomState(0))


def test_torch_gives_the_same():
    torch = pytest.importorskip("torch")
    backbone, X = Columns(20), samples()
    backbone.fit(X, np.random.RandomState(0))
    expected = backbone.transform(backbone.as_input(X))
    place = torch.device("cpu")
    backbone.to(place)
    found = backbone.transform(to_device(backbone.as_input(X), place))
    np.testing.assert_allclose(to_numpy(found), expected, rtol=1e-12)


def test_a_restored_extractor_needs_the_seed_only():
    X = samples()
    one = Extractor(Columns(20), Augmentation("Z"), seed=3).fit(X, "cpu")
    state = one.state()
    assert sum(array.size for array in state.values()) == 1
    two = Extractor(Columns(20), Augmentation("Z"), seed=0)
    two.restore(state)
    np.testing.assert_array_equal(two.transform(X), one.transform(X))


@pytest.mark.parametrize(
    ("connection", "intercept"), [("Z", 25), ("A", 25), ("Z+G", 25), ("G", None), ("G*", None)]
)
def test_the_constant_column_is_known_where_there_is_one(connection, intercept):
    X = samples()
    extractor = Extractor(Columns(20), Augmentation(connection, 2, 3), seed=0).fit(X, "cpu")
    assert extractor.intercept == intercept
    if intercept is not None:
        np.testing.assert_array_equal(extractor.transform(X)[:, intercept], 1.0)
