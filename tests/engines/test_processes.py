"""Processes of this machine."""

import numpy as np
import pytest

from clsnet import CLSNet, ClsnetError
from clsnet.engines import processes
from tests.engines.reading import N_PARTS, OPTIONS, Reader, X, Y

SHARDS = np.array_split(np.arange(len(X)), N_PARTS)


def test_a_killed_worker_is_replaced_and_the_sums_are_right(tmp_path, assert_same):
    read = Reader(tmp_path, deadly=900)
    assert_same(processes.summarise(CLSNet(**OPTIONS), SHARDS, read, workers=2))
    assert read.deaths == 1


def test_a_shard_that_kills_every_worker_ends_the_run_with_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "DEATHS", 0)
    read = Reader(tmp_path, deadly=0, times=100)
    with pytest.raises(ClsnetError, match="workers died 1 times in a row, with 1 shards left"):
        processes.summarise(CLSNet(**OPTIONS), SHARDS[:1], read, workers=1)


def test_what_a_worker_refuses_is_told_once(tmp_path):
    shards = [(X[:50], Y[:50]), (X[50:90] * np.nan, Y[50:90]), (X[90:], Y[90:])]
    with pytest.raises(ClsnetError, match="NaN or infinite"):
        processes.summarise(CLSNet(**OPTIONS), shards, workers=1)


def test_a_function_that_cannot_be_sent_is_refused():
    with pytest.raises(ClsnetError, match="make it a function of a module"):
        processes.summarise(CLSNet(**OPTIONS), SHARDS, lambda rows: [(X[rows], Y[rows])])


def test_nothing_to_sum_up_is_refused():
    with pytest.raises(ClsnetError, match="all parts of the data are empty"):
        processes.summarise(CLSNet(**OPTIONS), [])
