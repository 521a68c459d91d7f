import numpy as np
import pytest
import torch

from clsnet.classifier.curvatures.full import DiagonalTrace
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
    F, phantom = plasticity([(torch.from_numpy(A), names)], labels, torch.from_numpy(omega))
    return DiagonalTrace(labels, F, F * torch.from_numpy(omega), phantom, len(A))


@pytest.mark.parametrize("fisher", FISHERS)
@pytest.mark.parametrize("phantoms", [1, 8])
def test_plasticity_equals_loops_over_samples_and_classes(fisher, phantoms):
    A, y, omega = task()
    batches = [(torch.from_numpy(A), y)]
    F, phantom = plasticity(batches, LABELS, torch.from_numpy(omega), fisher, phantoms)
    expected, expected_phantom = literal.plasticity(A, y, LABELS, omega, fisher, phantoms)
    np.testing.assert_allclose(F, expected, rtol=1e-10)
    np.testing.assert_allclose(phantom, expected_phantom, rtol=1e-10)


@pytest.mark.parametrize("fisher", FISHERS)
def test_plasticity_does_not_depend_on_the_cut_into_batches(fisher):
    A, y, omega = task()
    A, omega = torch.from_numpy(A), torch.from_numpy(omega)
    whole = plasticity([(A, y)], LABELS, omega, fisher)
    cut = plasticity([(A[:1], y[:1]), (A[1:14], y[1:14]), (A[14:], y[14:])], LABELS, omega, fisher)
    for a, b in zip(whole, cut, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=0)


@pytest.mark.parametrize("fisher", FISHERS)
def test_a_class_without_weights_is_held_wherever_a_feature_is_used(fisher):
    A, y, omega = task()
    A[:, 2] = 0
    _, phantom = plasticity([(torch.from_numpy(A), y)], LABELS, torch.from_numpy(omega), fisher)
    assert phantom[2] == 0
    assert bool((phantom[[0, 1, 3, 4, 5]] > 0).all())


def test_a_class_that_appears_later_inherits_the_phantoms_of_all_earlier_tasks():
    first, second = trace_of(0, ["a", "b", "c"]), trace_of(1, ["d", "e", "f"])
    system = System.zeros(6, 3, torch.device("cpu"))
    for trace, gamma in ((first, 10.0), (second, 3.0)):
        trace.add_to(system, ["b", "d", "new"], gamma)
    own_b, own_d = first.plasticity[:, 1], second.plasticity[:, 0]
    expected = [
        10 * own_b + 3 * second.phantom,
        10 * first.phantom + 3 * own_d,
        10 * first.phantom + 3 * second.phantom,
    ]
    torch.testing.assert_close(system.diagonal, torch.stack(expected, dim=1))
    assert system.rhs[:, 2].abs().max() == 0
    torch.testing.assert_close(system.rhs[:, 0], 10 * first.pull[:, 1])
