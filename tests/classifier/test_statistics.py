import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clsnet.classifier.sums import BLOCK, Statistics


@pytest.mark.parametrize("size", [1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 1100])
def test_blockwise_gram_is_the_whole_product_and_can_be_read_at_any_time(size):
    A = torch.from_numpy(np.random.default_rng(size).standard_normal((9, size)))
    y = np.arange(9) % 2
    seen = Statistics(size)
    for stop in (4, 9):
        start = 0 if stop == 4 else 4
        gram = seen.add(A[start:stop], y[start:stop]).gram
        torch.testing.assert_close(gram, A[:stop].T @ A[:stop], rtol=1e-12, atol=1e-12)
        assert torch.equal(gram, gram.T)


def test_single_precision_batches_are_summed_in_double_precision():
    large, one = torch.tensor([[2.0**13]]), torch.tensor([[1.0]])
    seen = Statistics(1).add(large, np.array([0]))
    for _ in range(1000):
        seen.add(one, np.array([0]))
    assert seen.gram.item() == 2.0**26 + 1000
    assert seen.cross([0]).dtype == seen.gram.dtype == torch.float64


@settings(deadline=None, max_examples=20)
@given(st.lists(st.sampled_from(["b", "a", "cat"]), min_size=1, max_size=12), st.booleans())
def test_class_sums_and_counts_hold_for_text_and_numbers(names, as_text):
    y = np.array(names) if as_text else np.array([len(n) + ord(n[0]) for n in names])
    A = torch.from_numpy(np.random.default_rng(len(y)).standard_normal((len(y), 3)))
    seen = Statistics(3).add(A[:1], y[:1]).add(A[1:], y[1:])
    assert seen.labels == sorted(set(y.tolist()))
    assert seen.counts == {label: y.tolist().count(label) for label in y.tolist()}
    assert seen.n_samples == len(y)
    for label in seen.labels:
        expected = A[torch.from_numpy(y == label)].sum(dim=0)
        torch.testing.assert_close(seen.cross([label])[:, 0], expected)


def test_a_class_never_seen_has_a_zero_column():
    seen = Statistics(2).add(torch.ones(1, 2), np.array(["cat"]))
    assert seen.cross(["dog", "cat"]).tolist() == [[0.0, 1.0], [0.0, 1.0]]


def test_few_rows_wait_and_many_are_squared():
    A = torch.from_numpy(np.random.default_rng(0).standard_normal((6, 8)))
    y = np.array([0, 1, 0, 1, 0, 1])
    seen = Statistics(8).add(A[:2], y[:2]).add(A[2:3], y[2:3])
    torch.testing.assert_close(seen.rows, A[:3])
    seen.add(A[3:], y[3:])
    assert seen.rows is None
    torch.testing.assert_close(seen.gram, A.T @ A)


def test_rows_that_wait_are_copies():
    A = torch.ones(1, 8, dtype=torch.float64)
    seen = Statistics(8).add(A, np.array([0]))
    A.zero_()
    assert seen.gram.sum() == 64


def test_sums_made_elsewhere_are_taken_over():
    A = torch.from_numpy(np.random.default_rng(0).standard_normal((6, 3)))
    y = np.array(["a", "b", "a", "b", "a", "b"])
    one, other = Statistics(3).add(A, y), Statistics(3)
    other.set(one.gram, one.cross(one.labels), one.counts)
    other.add(A, y)
    torch.testing.assert_close(other.gram, 2 * A.T @ A)
    torch.testing.assert_close(other.cross(["b"]), 2 * one.cross(["b"]))
    assert other.counts == {"a": 6, "b": 6}


def test_sums_made_elsewhere_stay_as_they_are():
    A, y = torch.ones(1, 3, dtype=torch.float64), np.array(["a"])
    cross = torch.ones(3, 1, dtype=torch.float64)
    seen = Statistics(3)
    seen.set(torch.ones(3, 3, dtype=torch.float64), cross, {"a": 1})
    seen.add(A, y)
    assert cross.tolist() == [[1.0]] * 3
    assert seen.cross(["a"]).tolist() == [[2.0]] * 3


@pytest.mark.parametrize("n", [1, 3])
def test_sums_that_have_become_infinite_are_noticed(n):
    A, y = torch.ones(n, 4, dtype=torch.float64), np.zeros(n, int)
    assert Statistics(4).add(1e100 * A, y).finite
    assert not Statistics(4).add(1e160 * A, y).finite
    assert not Statistics(4, precision="float32").add(1e30 * A, y).finite
