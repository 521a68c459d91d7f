"""Sums by class, for few classes and for many."""

import numpy as np
import pytest

from clsnet.classifier.class_sums import FEW
from clsnet.classifier.sums import RunningSums


@pytest.mark.parametrize("n_classes", [3, FEW, FEW + 1, 300])
@pytest.mark.parametrize("are_weighted", [False, True])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_any_number_of_classes_gives_the_product_with_labels(n_classes, are_weighted, precision):
    random = np.random.default_rng(0)
    A, y = random.standard_normal((900, 7)), random.integers(0, n_classes, 900)
    y[:n_classes] = random.permutation(n_classes)
    weights = random.uniform(0.5, 2, 900) if are_weighted else np.ones(900)
    sums = RunningSums(7, precision=precision)
    for rows in np.array_split(np.arange(900), 4):
        sums.add(A[rows], y[rows], weights[rows])
    one_hot = y[:, None] == np.arange(n_classes)
    expected = A.T @ (weights[:, None] * one_hot)
    tolerance = 1e-13 if precision == "float64" else 1e-5
    np.testing.assert_allclose(
        sums.cross(range(n_classes)), expected, rtol=0, atol=tolerance * abs(expected).max()
    )
    assert sum(sums.counts.values()) == 900
    absent = sums.cross([-1, 0])
    assert not absent[:, 0].any()
    np.testing.assert_array_equal(absent[:, 1], sums.cross([0])[:, 0])
