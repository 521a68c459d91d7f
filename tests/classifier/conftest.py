import importlib.util

import pytest

from clsnet.arrays.devices import to_device, to_numpy


def torch_branch():
    """The branch for a GPU, on a CPU: `torch.device("cpu")` is not the `"cpu"` of NumPy."""
    import torch

    return torch.device("cpu")


@pytest.fixture(params=["numpy", "torch"])
def device(request):
    if request.param == "numpy":
        return "cpu"
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    return torch_branch()


@pytest.fixture
def on(device):
    """Moves an array to the device under test."""
    return lambda array: to_device(array, device)


@pytest.fixture
def back():
    return to_numpy
