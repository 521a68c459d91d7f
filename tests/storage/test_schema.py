"""What the values of a file may be, and what is said of others."""

import json

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from clsnet.errors import ClsnetError
from clsnet.storage.json_text import LONGEST, MOST_VALUES, read_json
from clsnet.storage.schema import (
    ANYTHING,
    FLAG,
    NOTHING,
    Misfit,
    check_arrays,
    check_finite,
    listed,
    mapped,
    number,
    one_of,
    record,
    row,
    text,
    whole,
)
from clsnet.storage.tensors import as_bytes, checksum, read_metadata, read_tensors

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
)


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (whole(1, 9), [1, 9], [0, 10, 1.0, True, "1", None]),
        (number(0, 1), [0, 1, 0.5], [-1, 2, float("nan"), float("inf"), True, "0", 10**400]),
        (number(0, 1, above=True), [1e-9, 1], [0, 0.0, -0.0]),
        (text(3, shortest=1), ["a", "abc"], ["", "abcd", 1, None, ["a"]]),
        (one_of("a", 1), ["a", 1], [True, "b", 1.0, [], {}]),
        (listed(whole(0, 1), 2, least=1), [[0], (0, 1)], [[], [2], [0] * 3, "0", {"0": 0}]),
        (row(FLAG, text()), [[True, ""]], [[True], [1, ""], [True, "", ""], "ab"]),
        (mapped(FLAG, 1), [{}, {"a": True}], [{"a": 1}, {"a": True, "b": True}, []]),
        (record({"a": FLAG}, {"b": FLAG}), [{"a": True}], [{}, {"b": True}, {"a": 1}, [], "a"]),
        (record({}, closed=False), [{}, {"x": 1}], [[], None]),
        (whole(0, 1) | NOTHING, [0, None], [2, "", False]),
    ],
    ids=lambda kind: getattr(kind, "name", "-"),
)
def test_a_kind_tells_what_it_is_from_what_it_is_not(kind, good, bad):
    for value in good:
        kind.check(value, "x")
    for value in bad:
        with pytest.raises(Misfit, match=r"^x") as caught:
            kind.check(value, "x")
        assert "\n" not in str(caught.value)


@given(VALUES)
def test_any_value_is_checked_without_another_error(value):
    inner = whole(0, 9) | text(3) | listed(number(), 3) | mapped(ANYTHING, 2)
    for kind in (inner, listed(inner, 3), record({"a": inner}, {"b": inner}), row(inner, inner)):
        try:
            kind.check(value, "x")
        except Misfit as error:
            assert len(str(error)) < 500


@given(st.binary(max_size=60) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_json_or_a_misfit(data):
    try:
        found = read_json(data)
    except Misfit:
        return
    assert found == json.loads(data)


@pytest.mark.parametrize(
    "data",
    ["[" * 70 + "]" * 70, "[" * 10**5, "[NaN]", "-Infinity", "1" * 5000, '"' + "a" * LONGEST],
    ids=["deep", "deeper", "nan", "infinite", "digits", "long"],
)
def test_json_out_of_bounds_is_refused(data):
    with pytest.raises(Misfit):
        read_json(data)


@pytest.mark.parametrize("part", ["[]", "{}", "0", '""'])
def test_values_are_counted_before_they_are_made(part):
    with pytest.raises(Misfit, match="values"):
        read_json("[" + f"{part}," * MOST_VALUES + f"{part}]")
    assert len(read_json(f"[{part},{part},{part}]".encode(), most=6)) == 3


def test_what_cannot_be_read_again_is_not_written():
    many = {"header": json.dumps([0] * MOST_VALUES)}
    with pytest.raises(ClsnetError, match=r"do not fit in one file .*values.* nothing was saved"):
        as_bytes({}, many)
    with pytest.raises(ClsnetError, match=r"do not fit in one file .*bytes.* nothing was saved"):
        as_bytes({}, {"header": "x" * LONGEST})


def test_arrays_have_their_names_shapes_types_and_finite_numbers():
    good = {"a": np.zeros((2, 3)), "b": np.zeros((), np.float32)}
    check_arrays(good, {"a": (2, -1), "b": ()})
    for shapes in ({"a": (2, 3)}, {"a": (3, 2), "b": ()}, {"a": (2, 3), "b": (), "c": ()}):
        with pytest.raises(Misfit):
            check_arrays(good, shapes)
    with pytest.raises(Misfit, match="is of float32, not of float64"):
        check_arrays(good, {"a": (2, 3), "b": ()}, dtypes=("float64",))
    with pytest.raises(Misfit, match="has the shape"):
        check_arrays({"a": np.zeros((0, 3))}, {"a": (-1, 3)})
    for odd in (np.nan, np.inf, -np.inf):
        with pytest.raises(Misfit, match="not finite"):
            check_finite({"a": np.array([0.0, odd])})
    check_finite({"a": np.array([1e308, -1e308]), "b": np.zeros(0), "c": np.zeros(2, int)})


# -------------------------------------------------------------------------------- tensors

ARRAYS = {
    "a": np.arange(6.0).reshape(2, 3),
    "b": np.array(3, np.int64),
    "c": np.zeros((5, 0), np.float32),
    "d": np.array([True, False]),
    "e": np.arange(3, dtype=np.uint8),
}


@pytest.fixture
def file(tmp_path):
    (tmp_path / "f").write_bytes(safetensors.numpy.save(ARRAYS, metadata={"x": "1"}))
    return tmp_path / "f"


def test_a_file_of_safetensors_is_read_as_safetensors_reads_it(file):
    metadata, found = read_tensors(file)
    assert metadata == read_metadata(file) == {"x": "1"}
    assert found.keys() == ARRAYS.keys()
    for name, array in safetensors.numpy.load_file(file).items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
    assert checksum("x", found) == checksum("x", ARRAYS)


def test_every_cut_and_every_flipped_bit_of_the_header_is_a_misfit_or_read(file):
    whole_file = file.read_bytes()
    length = int.from_bytes(whole_file[:8], "little") + 8
    for place in range(0, len(whole_file), 3):
        file.write_bytes(whole_file[:place])
        with pytest.raises(Misfit):
            read_tensors(file)
    for place in range(length):
        file.write_bytes(
            whole_file[:place] + bytes([whole_file[place] ^ 4]) + whole_file[place + 1 :]
        )
        try:
            _, found = read_tensors(file)
        except Misfit:
            continue
        assert sum(array.nbytes for array in found.values()) == len(whole_file) - length


@pytest.mark.parametrize(
    "tensor",
    [
        {"dtype": "F32", "shape": [5_000_000, 0], "data_offsets": [0, 0]},
        {"dtype": "F32", "shape": [2**20, 2**20, 0], "data_offsets": [0, 0]},
        {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]},
        {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]},
        {"dtype": "F32", "shape": [1] * 9, "data_offsets": [0, 4]},
        {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": 1, "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [1]},
    ],
    ids=json.dumps,
)
def test_lengths_are_checked_before_anything_is_read(tmp_path, tensor):
    header = json.dumps({"a": tensor}).encode()
    (tmp_path / "f").write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * 4)
    with pytest.raises(Misfit):
        read_tensors(tmp_path / "f")


def test_what_is_no_regular_file_is_not_read(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "none"):
        with pytest.raises(ClsnetError, match="cannot read"):
            read_tensors(path)
