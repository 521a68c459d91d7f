"""A part of ``make fuzz`` that takes seconds: the same cases every time."""

import sys

import pytest

pytest.importorskip("PIL")
if not sys.platform.startswith("linux"):
    pytest.skip("memory is measured as Linux tells it", allow_module_level=True)

from tests.fuzz import edited_runs
from tests.fuzz.file_corpus import BOMBS
from tests.fuzz.rows import GIGABYTE, SLOWEST, child

QUICK = [
    "weights_of_empty_arrays",
    "weights_with_a_huge_header",
    "model_of_huge_samples",
    "pickle_with_a_far_memo",
    "torch_weights_with_a_far_memo",
    "idx_of_no_numbers",
    "result_of_nested_lists",
    "result_of_many_lists",
    "tar_of_a_large_member",
    "tar_with_a_large_header",
    "tar_of_sparse_members",
    "zip_of_a_large_member",
]


@pytest.mark.parametrize(("kind", "count"), [("headers", 150), ("bytes", 150)])
def test_no_edit_of_a_model_file_ends_in_a_traceback_or_reaches_out(kind, count):
    found = child("child", kind, 20_001, count, 60)
    assert found["examples"] == found["opened"] == []
    assert found["cases"] == count
    assert found["refused"] > count // 2
    assert found["peak_mb"] < GIGABYTE


def test_no_edit_of_a_result_file_stops_a_report():
    found = edited_runs.tried(20_001, 100, 60)
    assert found["examples"] == []
    assert 0 < found["left_out"] < found["cases"] == 100


def test_a_small_file_takes_little_memory():
    for name, found in child("bombs", *QUICK).items():
        assert found["what"] == "refused", name
        assert found["peak_mb"] < GIGABYTE, name


def test_64_small_files_at_once_take_little_memory_and_time():
    found = child("bombs", "--together", *QUICK)
    assert found["outcomes"] == ["refused"] * 64
    assert found["peak_mb"] < 2 * GIGABYTE
    assert found["longest_by_the_clock_s"] < SLOWEST


def test_every_format_has_a_bomb():
    kinds = {name.partition("_")[0] for name in BOMBS}
    assert kinds == {"weights", "model", "pickle", "torch", "idx", "tar", "zip", "result"}
