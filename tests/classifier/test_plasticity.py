import numpy as np
import pytest

from clsnet.classifier.curvatures import DiagonalTrace
from clsnet.classifier.curvatures.plasticity import FISHERS, plasticity
from clsnet.classifier.solvers import System
from tests import literal

LABELS = ["ant", "bee", "cat"]


def task(seed=0, n=25, d=6):
    random = np.random.default_rng(seed)
    A = random.standard_normal((n, d))
    y = np.array(LABELS)[random.integers(0, 3, n)]
    return A, y, random.standard_normal((d, 3))


def trace_of(seed, labels):
    A, y, omega = task(seed)
    names = np.array(labels)[np.searchsorted(LABELS, y)]
    F, phantom = plasticity([(A, names)], labels, omega)
    return DiagonalTrace(labels, F, F * omega, phantom, len(A))


@pytest.mark.parametrize("fisher", FISHERS)
@pytest.mark.parametrize("phantoms", [1, 8])
def test_plasticity_equals_loops_over_samples_and_classes(fisher, phantoms, on):
    A, y, omega = task()
    F, phantom = plasticity([(on(A), y)], LABELS, on(omega), fisher, phantoms)
    expected, expected_phantom = literal.plasticity(A, y, LABELS, omega, fisher, phantoms)
    np.testing.assert_allclose(F, expected, rtol=1e-10)
    np.testing.assert_allclose(phantom, expected_phantom, rtol=1e-10)


@pytest.mark.parametrize("fisher", FISHERS)
def test_plasticity_does_not_depend_on_the_cut_into_batches(fisher):
    A, y, omega = task()
    whole = plasticity([(A, y)], LABELS, omega, fisher)
    cut = plasticity([(A[:1], y[:1]), (A[1:14], y[1:14]), (A[14:], y[14:])], LABELS, omega, fisher)
    for a, b in zip(whole, cut, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


@pytest.mark.parametrize("fisher", FISHERS)
def test_a_weight_is_how_often_a_sample_counts(fisher, on, back):
    A, y, omega = task()
    weights = np.resize([1.0, 3.0, 2.0, 0.0], len(y))
    again = np.repeat(np.arange(len(y)), weights.astype(int))
    weighted = plasticity([(on(A), y, weights)], LABELS, on(omega), fisher)
    repeated = plasticity([(A[again], y[again])], LABELS, omega, fisher)
    for found, wanted in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(back(found), wanted, rtol=1e-10)


@pytest.mark.parametrize("fisher", FISHERS)
def test_a_class_without_weights_is_held_wherever_a_feature_is_used(fisher):
    A, y, omega = task()
    A[:, 2] = 0
    _, phantom = plasticity([(A, y)], LABELS, omega, fisher)
    assert phantom[2] == 0
    assert (phantom[[0, 1, 3, 4, 5]] > 0).all()


def test_a_class_that_appears_later_inherits_the_phantoms_of_all_earlier_tasks():
    first, second = trace_of(0, ["a", "b", "c"]), trace_of(1, ["d", "e", "f"])
    system = System.zeros(6, 3, "cpu")
    for trace, gamma in ((first, 10.0), (second, 3.0)):
        trace.add_to(system, ["b", "d", "new"], gamma)
    own_b, own_d = first.plasticity[:, 1], second.plasticity[:, 0]
    expected = [
        10 * own_b + 3 * second.phantom,
        10 * first.phantom + 3 * own_d,
        10 * first.phantom + 3 * second.phantom,
    ]
    np.testing.assert_allclose(system.diagonal, np.stack(expected, axis=1))
    assert abs(system.rhs[:, 2]).max() == 0
    np.testing.assert_allclose(system.rhs[:, 0], 10 * first.pull[:, 1])
