import numpy as np
import pytest

from clsnet.extractor.backbones.resizing import resized, resizing_matrix
from clsnet.extractor.backbones.views import views, write_views
from clsnet.extractor.graph import Graph

LENGTHS = [(28, 224), (224, 336), (300, 224), (17, 5), (5, 17), (1, 4), (4, 1), (182, 224), (7, 7)]


def literal_row(row, size):
    """Mean of the old pixels around a new one, weighted by a triangle."""
    scale = len(row) / size
    width = max(scale, 1.0)
    new = []
    for i in range(size):
        centre = (i + 0.5) * scale
        weights = [max(0.0, 1 - abs(j + 0.5 - centre) / width) for j in range(len(row))]
        new.append(sum(w * v for w, v in zip(weights, row, strict=True)) / sum(weights))
    return new


@pytest.mark.parametrize("length, size", LENGTHS)
def test_a_pixel_is_a_mean_weighted_by_a_triangle(length, size):
    row = np.random.RandomState(0).uniform(size=length)
    np.testing.assert_allclose(resizing_matrix(length, size) @ row, literal_row(row, size), 1e-6)
    np.testing.assert_allclose(resizing_matrix(length, size).sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("height, size", LENGTHS)
def test_images_are_resized_as_torch_does(height, size):
    """In float64, as torch rounds the places of pixels like their values."""
    torch = pytest.importorskip("torch")
    x = np.random.RandomState(0).uniform(size=(2, 3, height, 40)).astype(np.float32)
    expected = torch.nn.functional.interpolate(
        torch.from_numpy(x).double(), (size, 31), mode="bilinear", antialias=True
    ).float()
    np.testing.assert_allclose(resized(x, size, 31), expected.numpy(), rtol=0, atol=1e-6)
    found = resized(torch.from_numpy(x), size, 31)
    assert isinstance(found, torch.Tensor)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


def test_images_of_that_size_stay_as_they_are():
    x = np.random.RandomState(0).uniform(size=(2, 3, 8, 9)).astype(np.float32)
    assert resized(x, 8, 9) is x


def test_an_image_is_resized_by_itself_to_the_bit():
    x = np.random.RandomState(0).uniform(size=(5, 3, 61, 47)).astype(np.float32)
    together = resized(x, 224, 224)
    for i in range(5):
        np.testing.assert_array_equal(resized(x[i : i + 1], 224, 224)[0], together[i])


@pytest.mark.parametrize("number", [1, 2, 8])
@pytest.mark.parametrize("size", [12, 15])
def test_graphs_see_the_same_views(number, size):
    reference = pytest.importorskip("onnx.reference")
    x = np.random.RandomState(0).uniform(size=(2, 3, size, size)).astype(np.float32)
    graph = Graph()
    values = list(write_views(graph, graph.input("x", np.float32, x.shape), size, number))
    assert len(values) == number
    for i, value in enumerate(values):
        graph.output(f"y{i}", value)
    found = reference.ReferenceEvaluator(graph.model()).run(None, {"x": x})
    for mine, view in zip(found, views(x, number), strict=True):
        np.testing.assert_allclose(mine, view, rtol=0, atol=1e-6)
