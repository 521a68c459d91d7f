"""Every solver against one short reference, at sizes that are really used."""

import functools

import numpy as np
import pytest

from clsnet.arrays.devices import to_device, to_numpy
from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.ridge.error_curve import GRID
from clsnet.classifier.ridge.factor import Factor
from clsnet.classifier.ridge.normal_equations import NormalEquations
from clsnet.classifier.ridge.reference import ridge_regression
from clsnet.classifier.ridge.rule import regress
from clsnet.classifier.rule import Rule
from tests.literal import one_hot, temperature

N_CLASSES = 4
SHAPES = {
    "small": (500, 300),
    "direct": (2500, 1000),
    "quadrature": (3500, 1400),
    "fewer samples than columns": (700, 1500),
    "few samples": (120, 2000),
}


@functools.cache
def data(shape):
    """Random ReLU features of noisy classes."""
    n, d = SHAPES[shape]
    random = np.random.default_rng(n)
    y = np.arange(n) % N_CLASSES
    centres = random.standard_normal((N_CLASSES, 30)) * 0.4
    hidden = (centres[y] + random.standard_normal((n, 30))) @ random.standard_normal((30, d))
    return np.maximum(hidden + random.standard_normal((n, d)), 0), y


@functools.cache
def reference(shape):
    """Solutions and errors over the grid."""
    A, y = data(shape)
    ridges = np.array(GRID) * (A**2).sum(axis=0).mean()
    return ridges, *ridge_regression(A, one_hot(y, range(N_CLASSES)), ridges)


def assert_follows_the_reference(shape, omega, ridge=None, found=None):
    """The ridge is as good as the best of the grid, and the weights are those of that ridge."""
    ridges, omegas, errors = reference(shape)
    omega = to_numpy(omega)
    if ridge is None:
        index = min(range(len(GRID)), key=lambda i: np.linalg.norm(omegas[i] - omega))
    else:
        index = int(np.argmin(abs(np.log(ridges / ridge))))
        assert ridge == pytest.approx(ridges[index], rel=1e-9)
    np.testing.assert_allclose(omega, omegas[index], rtol=0, atol=1e-7 * abs(omegas[index]).max())
    assert errors[index] <= 1.02 * errors.min()
    if found is not None:
        expected = temperature(*data(shape), list(range(N_CLASSES)), omegas[index], ridges[index])
        assert found == pytest.approx(expected, rel=0.03)


def equations(shape, device="cpu", rows=False):
    A, y = data(shape)
    cross = to_device(A.T @ one_hot(y, range(N_CLASSES)), device)
    if rows:
        return NormalEquations(None, cross, len(A), to_device(A, device))
    return NormalEquations(to_device(A.T @ A, device), cross, len(A))


@pytest.mark.parametrize("shape", SHAPES)
def test_chosen_ridge_and_weights_are_those_of_the_reference(shape, device):
    found = regress(equations(shape, device))
    assert_follows_the_reference(shape, found.omega, found.ridge)


@pytest.mark.parametrize("shape", ["small", "quadrature", "fewer samples than columns"])
@pytest.mark.parametrize("relative", [1e-4, 1e-1])
def test_weights_of_a_given_ridge_are_those_of_the_reference(shape, relative):
    found = regress(equations(shape), relative)
    index = GRID.index(relative)
    expected, error = (part[index] for part in reference(shape)[1:])
    np.testing.assert_allclose(found.omega, expected, rtol=0, atol=1e-7 * abs(expected).max())
    assert found.error == pytest.approx(error, rel=0.03)


@pytest.mark.parametrize("shape", ["quadrature", "few samples"])
def test_rows_in_place_of_a_gram_matrix_change_nothing(shape):
    found = regress(equations(shape, rows=True))
    assert_follows_the_reference(shape, found.omega, found.ridge)


@pytest.mark.parametrize("index", [6, 10, 14])
def test_a_kept_factor_changes_nothing(index):
    some = equations("quadrature")
    found = regress(some, kept=Factor.of(some.gram, GRID[index] * some.scale))
    assert_follows_the_reference("quadrature", found.omega, found.ridge)


@pytest.mark.parametrize("retain", ["total", "tasks", "classes"])
@pytest.mark.parametrize("shape", ["quadrature", "fewer samples than columns", "few samples"])
def test_a_classifier_taught_in_tasks_is_the_reference_on_all_data(shape, retain):
    A, y = data(shape)
    model = AnalyticClassifier(Rule(retain=retain), A.shape[1], "cpu")
    for rows in np.split(np.arange(len(y)), [len(y) // 2, len(y) - 30, len(y) - 10]):
        model = model.learn(lambda rows=rows: [(A[rows], y[rows])])
    assert model.labels == list(range(N_CLASSES))
    assert_follows_the_reference(shape, model.omega, found=model.calibration.temperature)
