import pytest

from clsnet.arrays.devices import to_device, to_numpy


@pytest.fixture(params=["numpy", "torch"])
def device(request):
    """NumPy's, and that of torch: `torch.device("cpu")` is not `"cpu"`, so it acts as a GPU's."""
    if request.param == "numpy":
        return "cpu"
    return pytest.importorskip("torch").device("cpu")


@pytest.fixture
def on(device):
    """Moves an array to the device under test."""
    return lambda array: to_device(array, device)


@pytest.fixture
def back():
    """Moves an array to NumPy."""
    return to_numpy
