import copy
import pickle

import numpy as np
import pytest

from clsnet.methods.common.random_layer import RandomLayer


def layer(seed=1, uniform=False):
    return RandomLayer(100, 200, np.random.default_rng(seed), "cpu", uniform)


def test_weights_are_standard_normal():
    weights = layer().weights
    assert abs(weights.mean()) < 0.02
    assert weights.std() == pytest.approx(1, abs=0.02)


def test_or_uniform_as_those_of_a_linear_layer_of_pytorch():
    torch = pytest.importorskip("torch")
    weights = layer(uniform=True).weights
    theirs = torch.nn.Linear(100, 200).weight.detach().numpy()
    for ours, expected in ((weights.min(), theirs.min()), (weights.max(), theirs.max())):
        assert ours == pytest.approx(expected, abs=1e-3)
    assert weights.std() == pytest.approx(theirs.std(), rel=0.02)


@pytest.mark.parametrize("uniform", [False, True])
def test_weights_follow_from_the_seed(uniform):
    first, same, other = (layer(seed, uniform).weights for seed in (1, 1, 2))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_copy_draws_the_same_weights_again(copied):
    one = layer()
    twin = copied(one)
    assert twin._weights is None
    for _ in range(2):
        assert np.array_equal(twin.weights, one.weights)
    assert len(pickle.dumps(one)) < 2_000


def test_a_later_use_of_the_generator_changes_nothing():
    random = np.random.default_rng(1)
    one = RandomLayer(100, 200, random, "cpu")
    random.standard_normal(7)
    assert np.array_equal(copy.copy(one).weights, layer().weights)


def test_outputs_have_the_precision_of_what_goes_in():
    for kind in (np.float32, np.float64):
        A = np.random.default_rng(0).standard_normal((3, 100)).astype(kind)
        H = layer()(A)
        assert H.dtype == kind
        np.testing.assert_allclose(H, A @ layer().weights.astype(float), rtol=1e-3, atol=1e-4)
