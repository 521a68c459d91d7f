import numpy as np
import pytest

from clsnet.arrays.devices import to_device, to_numpy
from clsnet.errors import ClsnetError
from clsnet.methods.common.recursive_ridge import RecursiveRidge

INPUTS = 12
random = np.random.default_rng(0)
H, Y = random.standard_normal((90, INPUTS)), random.standard_normal((90, 3))


@pytest.fixture(params=["numpy", "torch"])
def device(request):
    return "cpu" if request.param == "numpy" else pytest.importorskip("torch").device("cpu")


def closed(ridge):
    return np.linalg.solve(H.T @ H + ridge * np.eye(INPUTS), H.T @ Y)


def learned(ridge, sizes, order=slice(None), device="cpu"):
    regression = RecursiveRidge(INPUTS, ridge, device)
    ends = np.cumsum(sizes)
    for start, end in zip([0, *ends], [*ends, 90], strict=True):
        rows = slice(start, end)
        regression.add(*(to_device(array[order][rows], device) for array in (H, Y)))
    return regression


@pytest.mark.parametrize("ridge", [1e-4, 0.1, 100.0])
@pytest.mark.parametrize("sizes", [[], [1], [5, 40, 1], [1] * 89])
def test_any_blocks_give_ridge_regression_on_all_samples(ridge, sizes):
    found = learned(ridge, sizes)
    np.testing.assert_allclose(found.weights, closed(ridge), atol=1e-9)
    np.testing.assert_allclose(
        found.inverse, np.linalg.inv(H.T @ H + ridge * np.eye(INPUTS)), atol=1e-9
    )


def test_the_order_of_samples_does_not_matter():
    shuffled = learned(0.1, [20, 30], random.permutation(90))
    np.testing.assert_allclose(shuffled.weights, learned(0.1, [45]).weights, atol=1e-12)


def test_the_inverse_is_symmetric_to_the_last_bit(device):
    inverse = to_numpy(learned(0.1, [7, 30], device=device).inverse)
    assert np.array_equal(inverse, inverse.T)


def test_tensors_give_what_arrays_give(device):
    weights = to_numpy(learned(0.1, [7, 30], device=device).weights)
    np.testing.assert_allclose(weights, closed(0.1), atol=1e-12)


def test_new_outputs_start_from_targets_of_zero():
    regression = RecursiveRidge(INPUTS, 0.1, "cpu")
    regression.add(H[:50], Y[:50, :2])
    regression.add(H[50:], Y[50:])
    padded = np.concatenate([np.column_stack([Y[:50, :2], np.zeros(50)]), Y[50:]])
    expected = np.linalg.solve(H.T @ H + 0.1 * np.eye(INPUTS), H.T @ padded)
    np.testing.assert_allclose(regression.weights, expected, atol=1e-12)


def test_lost_precision_is_said_in_one_line():
    regression = RecursiveRidge(INPUTS, 1e-30, "cpu")
    same = np.ones((3, INPUTS))
    with pytest.raises(ClsnetError, match="use a larger ridge"):
        for _ in range(3):
            regression.add(same * 1e8, np.ones((3, 1)))
