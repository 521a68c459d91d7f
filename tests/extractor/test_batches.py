import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clsnet.errors import ClsnetError
from clsnet.extractor.batches import peek, rebatch

lengths = st.lists(st.integers(0, 9), max_size=8)


def stream(sizes):
    stops = np.cumsum([0, *sizes])
    return [(np.arange(a, b)[:, None], np.arange(a, b)) for a, b in itertools.pairwise(stops)]


def joined(parts):
    return [value for part in parts for value in np.ravel(part).tolist()]


@given(lengths, st.integers(1, 5))
def test_rebatching_keeps_every_sample_in_order_in_batches_of_one_size(sizes, size):
    out = list(rebatch(stream(sizes), size))
    total = sum(sizes)
    assert joined(y for _, y in out) == list(range(total))
    assert all((X[:, 0] == y).all() for X, y in out)
    rest = [total % size] if total % size else []
    assert [len(y) for _, y in out] == [size] * (total // size) + rest


@given(lengths, st.integers(1, 5))
def test_rebatching_reads_no_further_than_it_must(sizes, size):
    read = 0

    def counted():
        nonlocal read
        for X, y in stream(sizes):
            read += len(y)
            yield X, y

    needed = 0
    for _, y in rebatch(counted(), size):
        needed += len(y)
        assert read - needed < 9 or read == sum(sizes)


def test_slice_of_one_long_array_is_a_view():
    X, y = np.arange(10)[:, None], np.arange(10)
    assert all(np.shares_memory(part, X) for part, _ in rebatch([(X, y)], 4))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(1, 40), st.booleans())
def test_peeking_shows_the_first_samples_and_loses_none(sizes, size, once):
    batches = [y for _, y in stream(sizes)]
    head, rest = peek(iter(batches) if once else batches, size, np.asarray)
    assert joined(rest) == list(range(sum(sizes)))
    reached = [n for n in np.cumsum(sizes).tolist() if n >= size]
    assert head.tolist() == list(range(reached[0] if reached else sum(sizes)))


def test_peeking_at_a_list_leaves_it_readable_again():
    batches = [[1, 2], [3]]
    _, rest = peek(batches, 1, np.array)
    assert list(rest) == list(rest) == batches


def test_peeking_reads_no_batch_more_than_it_needs():
    source = iter([[1, 2], [3, 4], [5]])
    peek(source, 2, np.array)
    assert next(source) == [3, 4]


@pytest.mark.parametrize("nothing", [[], iter([])])
def test_peeking_at_nothing_says_that_the_task_is_empty(nothing):
    with pytest.raises(ClsnetError, match="task is empty"):
        peek(nothing, 10, np.array)
