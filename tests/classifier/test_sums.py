import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clsnet.arrays.gram import LEAST_BLOCK as BLOCK
from clsnet.arrays.gram import MIRROR_BLOCK
from clsnet.classifier.sums import RunningSums


@pytest.mark.parametrize("size", [1, MIRROR_BLOCK, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 1100])
def test_blockwise_gram_is_the_whole_product_and_can_be_read_at_any_time(size, device, on, back):
    A = np.random.default_rng(size).standard_normal((9, size))
    y = np.arange(9) % 2
    seen = RunningSums(size, device)
    for stop in (4, 9):
        start = 0 if stop == 4 else 4
        gram = back(seen.add(on(A[start:stop]), y[start:stop]).gram)
        np.testing.assert_allclose(gram, A[:stop].T @ A[:stop], rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(gram, gram.T)


def test_single_precision_batches_are_summed_in_double_precision(device, on, back):
    large, one = on(np.array([[2.0**13]], np.float32)), on(np.array([[1.0]], np.float32))
    seen = RunningSums(1, device).add(large, np.array([0]))
    for _ in range(1000):
        seen.add(one, np.array([0]))
    assert seen.gram.item() == 2.0**26 + 1000
    assert back(seen.cross([0])).dtype == back(seen.gram).dtype == np.float64


@settings(deadline=None, max_examples=20)
@given(st.lists(st.sampled_from(["b", "a", "cat"]), min_size=1, max_size=12), st.booleans())
def test_class_sums_and_counts_hold_for_text_and_numbers(names, as_text):
    y = np.array(names) if as_text else np.array([len(n) + ord(n[0]) for n in names])
    A = np.random.default_rng(len(y)).standard_normal((len(y), 3))
    seen = RunningSums(3).add(A[:1], y[:1]).add(A[1:], y[1:])
    assert seen.labels == sorted(set(y.tolist()))
    assert seen.counts == {label: y.tolist().count(label) for label in y.tolist()}
    assert seen.n_samples == len(y)
    for label in seen.labels:
        expected = A[y == label].sum(axis=0)
        np.testing.assert_allclose(seen.cross([label])[:, 0], expected, rtol=1e-7, atol=1e-7)


def test_a_class_never_seen_has_a_zero_column(device, on):
    seen = RunningSums(2, device).add(on(np.ones((1, 2))), np.array(["cat"]))
    assert seen.cross(["dog", "cat"]).tolist() == [[0.0, 1.0], [0.0, 1.0]]


def test_few_rows_wait_and_many_are_multiplied():
    A = np.random.default_rng(0).standard_normal((6, 8))
    y = np.array([0, 1, 0, 1, 0, 1])
    seen = RunningSums(8).add(A[:2], y[:2]).add(A[2:3], y[2:3])
    np.testing.assert_array_equal(seen.rows, A[:3])
    seen.add(A[3:], y[3:])
    assert seen.rows is None
    np.testing.assert_allclose(seen.gram, A.T @ A, rtol=1e-7, atol=1e-7)


def test_rows_that_wait_are_copies(device, on):
    A = on(np.ones((1, 8)))
    seen = RunningSums(8, device).add(A, np.array([0]))
    A[:] = 0
    assert seen.gram.sum() == 64


def test_sums_made_elsewhere_are_taken_over():
    A = np.random.default_rng(0).standard_normal((6, 3))
    y = np.array(["a", "b", "a", "b", "a", "b"])
    one, other = RunningSums(3).add(A, y), RunningSums(3)
    other.set(one.gram, one.cross(one.labels), one.counts)
    other.add(A, y)
    np.testing.assert_allclose(other.gram, 2 * A.T @ A, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(other.cross(["b"]), 2 * one.cross(["b"]))
    assert other.counts == {"a": 6, "b": 6}


def test_sums_made_elsewhere_stay_as_they_are():
    A, y = np.ones((1, 3)), np.array(["a"])
    cross = np.ones((3, 1))
    seen = RunningSums(3)
    seen.set(np.ones((3, 3)), cross, {"a": 1})
    seen.add(A, y)
    assert cross.tolist() == [[1.0]] * 3
    assert seen.cross(["a"]).tolist() == [[2.0]] * 3


@pytest.mark.parametrize("n", [1, 3])
def test_sums_that_have_become_infinite_are_noticed(n, device, on):
    A, y = on(np.ones((n, 4))), np.zeros(n, int)
    assert RunningSums(4, device).add(1e100 * A, y).finite
    assert not RunningSums(4, device).add(1e160 * A, y).finite
    assert not RunningSums(4, device, precision="float32").add(1e30 * A, y).finite


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_a_weight_is_how_often_a_sample_counts(device, on, back, precision):
    A = np.random.default_rng(0).standard_normal((9, 4))
    y, weights = np.array(list("abcabcabc")), np.array([1.0, 2, 3, 0.5, 0.25, 4, 1, 1, 1])
    seen = RunningSums(4, device, precision)
    for some in (slice(0, 1), slice(1, 6)):
        seen.add(on(A[some]), y[some], weights[some])
    seen.add(on(A[6:]), y[6:])
    within = 1e-12 if precision == "float64" else 1e-5
    np.testing.assert_allclose(back(seen.gram), A.T @ (weights[:, None] * A), atol=within)
    for label in "abc":
        own = y == label
        expected = weights[own] @ A[own]
        np.testing.assert_allclose(back(seen.cross([label]))[:, 0], expected, atol=within)
    assert seen.counts == {"a": 3, "b": 3, "c": 3}
    assert seen.weights == {"a": 2.5, "b": 3.25, "c": 8.0}
    assert seen.n_samples == 13.75
