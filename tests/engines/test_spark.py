"""Spark in local mode; a Java runtime and pyspark have to be there."""

import shutil
import sys

import pandas as pd
import pytest

from clsnet import CLSNet, ClsnetError
from clsnet.engines import spark as engine
from tests.engines.reading import N_PARTS, OPTIONS, Reader, X


@pytest.fixture(scope="module")
def frame():
    if shutil.which("java") is None:
        pytest.skip("there is no Java runtime")
    pytest.importorskip("pyarrow")
    sql = pytest.importorskip("pyspark.sql")
    settings = {"spark.ui.enabled": "false", "spark.python.worker.reuse": "false"}
    builder = sql.SparkSession.builder.master("local[2,4]")  # a task is tried four times
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    rows = session.createDataFrame(pd.DataFrame({"row": range(len(X))}))
    yield rows.repartition(N_PARTS)
    session.stop()


@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_is_replaced_and_the_sums_are_right(frame, tmp_path, assert_same):
    read = Reader(tmp_path, deadly=900)
    assert_same(engine.summarise(CLSNet(**OPTIONS), frame, read))
    assert read.deaths == 1


def test_without_spark_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ClsnetError, match=r"^clsnet.engines.spark needs pyspark: pip install 'cls"):
        engine.summarise(CLSNet(**OPTIONS), None, None)
