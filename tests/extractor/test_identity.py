import numpy as np
import pytest

from clsnet.errors import ClsnetError
from clsnet.extractor import Identity


def represented(backbone, X, fit_on=None):
    backbone.fit(X if fit_on is None else fit_on, np.random.RandomState(0))
    return backbone.transform(backbone.as_input(X))


def samples(n=30, d=5):
    return np.random.default_rng(0).standard_normal((n, d)) * [1, 2, 3, 4, 5] + 7


def test_standard_scale_is_mean_zero_and_deviation_one_on_the_fitted_samples():
    Z = represented(Identity(), samples())
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Z.std(axis=0), 1)


def test_standard_scale_stays_that_of_the_fitted_samples():
    X = samples()
    expected = (2 * X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(represented(Identity(), 2 * X, fit_on=X), expected)


def test_feature_that_hardly_varied_counts_a_tenth_of_the_average_deviation():
    X = samples()
    X[:, 0] = 3.0
    Z = represented(Identity(), X + 1, fit_on=X)
    np.testing.assert_allclose(Z[:, 0], 1 / (0.1 * X.std(axis=0).mean()))


def test_samples_that_are_all_alike_stay_finite():
    X = np.full((4, 3), 2.0)
    np.testing.assert_array_equal(represented(Identity(), X + 1, fit_on=X), np.ones((4, 3)))


def test_sample_scale_depends_on_the_sample_alone():
    X = samples()
    Z = represented(Identity("sample"), X)
    np.testing.assert_allclose(Z.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(Z.std(axis=1, ddof=0), 1)
    np.testing.assert_array_equal(represented(Identity("sample"), X[3:4]), Z[3:4])


def test_flat_sample_has_no_deviation_to_scale_by():
    assert not represented(Identity("sample"), np.full((2, 4), 9.0)).any()


def test_no_scale_leaves_vectors_as_they_are():
    np.testing.assert_array_equal(represented(Identity("none"), samples()), samples())


def test_images_are_flattened_and_their_bytes_are_fractions_of_one():
    X = np.random.default_rng(0).integers(0, 256, (6, 2, 3), dtype=np.uint8)
    np.testing.assert_allclose(represented(Identity("none"), X), X.reshape(6, 6) / 255)
    as_float = X.astype(float)
    np.testing.assert_array_equal(represented(Identity("none"), as_float), as_float.reshape(6, 6))


def test_vectors_of_bytes_keep_their_values():
    X = np.arange(12, dtype=np.uint8).reshape(3, 4)
    np.testing.assert_array_equal(represented(Identity("none"), X), X)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int16, bool])
def test_every_kind_of_number_is_computed_in_double_precision(dtype):
    X = (samples() > 6).astype(dtype)
    Z = represented(Identity(), X)
    assert Z.dtype == np.float64
    np.testing.assert_allclose(Z, represented(Identity(), X.astype(float)))


def test_half_precision_does_not_overflow():
    X = np.full((3, 2), 60000, dtype=np.float16) * np.array([[1], [-1], [1]], dtype=np.float16)
    np.testing.assert_allclose(represented(Identity(), X).std(axis=0), 1)


def test_input_is_a_copy():
    X = samples()
    Identity().as_input(X)[:] = 0
    assert X.any()


def test_unknown_scale_names_the_known_ones():
    with pytest.raises(ClsnetError, match="'standard', 'sample' or 'none'"):
        Identity("minmax").fit(samples(), np.random.RandomState(0))


def test_config_rebuilds_the_backbone():
    backbone = Identity("sample")
    assert Identity(**backbone.config).scale == "sample"
    assert repr(backbone) == "Identity(scale='sample')"
    assert backbone.as_input(samples()).dtype == np.float64


@pytest.mark.parametrize("scale", ["standard", "sample", "none"])
def test_tensors_give_what_arrays_give(scale):
    torch = pytest.importorskip("torch")
    backbone = Identity(scale)
    expected = represented(backbone, samples())
    backbone.to(torch.device("cpu"))
    Z = backbone.transform(torch.from_numpy(backbone.as_input(samples())))
    assert isinstance(Z, torch.Tensor) and Z.dtype == torch.float64
    np.testing.assert_allclose(Z.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("scale", ["standard", "sample", "none"])
def test_state_rebuilds_the_map(scale):
    backbone = Identity(scale)
    expected = represented(backbone, samples())
    again = Identity(**backbone.config)
    assert again.state().keys() == {"shift", "factor"}
    again.restore(backbone.state())
    np.testing.assert_array_equal(again.transform(again.as_input(samples())), expected)


@pytest.mark.parametrize("scale", ["standard", "sample", "none"])
def test_graph_computes_the_same(scale, run_graph):
    X = np.random.default_rng(0).integers(0, 256, (6, 3, 4, 5), dtype=np.uint8)
    X[2] = 7
    backbone = Identity(scale)
    expected = represented(backbone, X)
    np.testing.assert_allclose(run_graph(backbone.write_graph, X), expected, atol=1e-5)
