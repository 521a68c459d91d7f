"""Ray, with workers that are processes."""

import os
import sys
import warnings

import numpy as np
import pytest

from clsnet import CLSNet, ClsnetError
from clsnet.engines import ray as engine
from tests.engines.reading import N_PARTS, OPTIONS, Reader, X, Y


@pytest.fixture(scope="module")
def dataset():
    pytest.importorskip("pyarrow")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray = pytest.importorskip("ray")
        data = pytest.importorskip("ray.data")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
        data.DataContext.get_current().enable_progress_bars = False
        blocks = [{"row": rows} for rows in np.array_split(np.arange(len(X)), N_PARTS)]
        yield data.from_blocks([_table(block) for block in blocks])
        ray.shutdown()


def _table(block):
    import pyarrow

    return pyarrow.table({name: list(values) for name, values in block.items()})


@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_is_replaced_and_the_sums_are_right(dataset, tmp_path, assert_same):
    read = Reader(tmp_path, deadly=900)
    assert_same(engine.summarise(CLSNet(**OPTIONS), dataset, read))
    assert read.deaths == 1


@pytest.mark.filterwarnings("ignore")
def test_what_a_worker_refuses_is_told(dataset):
    with pytest.raises(ClsnetError, match="NaN or infinite"):
        engine.summarise(CLSNet(**OPTIONS), dataset, _nothing_finite)


def _nothing_finite(block):
    return [(X[block["row"]] * np.nan, Y[block["row"]])]


def test_without_ray_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ClsnetError, match=r"^clsnet.engines.ray needs ray: pip install 'clsnet"):
        engine.summarise(CLSNet(**OPTIONS), None, None)
