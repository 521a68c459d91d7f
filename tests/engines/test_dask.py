"""Dask, with workers that are processes."""

import sys

import numpy as np
import pytest

from clsnet import CLSNet, ClsnetError
from clsnet.engines import dask as engine
from tests.engines.reading import N_PARTS, OPTIONS, Reader, X, Y


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster),
    ):
        yield


@pytest.fixture
def bag():
    dask_bag = pytest.importorskip("dask.bag")
    return dask_bag.from_sequence(range(len(X)), npartitions=N_PARTS)


def test_a_killed_worker_is_replaced_and_the_sums_are_right(cluster, bag, tmp_path, assert_same):
    read = Reader(tmp_path, deadly=900)
    assert_same(engine.summarise(CLSNet(**OPTIONS), bag, read))
    assert read.deaths == 1


def test_items_of_a_bag_are_batches(cluster, assert_same):
    dask_bag = pytest.importorskip("dask.bag")
    batches = [(X[rows], Y[rows]) for rows in np.array_split(np.arange(len(X)), 20)]
    assert_same(engine.summarise(CLSNet(**OPTIONS), dask_bag.from_sequence(batches)))


def test_what_a_worker_refuses_is_told(cluster):
    dask_bag = pytest.importorskip("dask.bag")
    bad = dask_bag.from_sequence([(X[:50] * np.nan, Y[:50])])
    with pytest.raises(ClsnetError, match="NaN or infinite"):
        engine.summarise(CLSNet(**OPTIONS), bad)


def test_without_dask_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ClsnetError, match=r"^clsnet.engines.dask needs dask: pip install 'clsnet"):
        engine.summarise(CLSNet(**OPTIONS), None)
