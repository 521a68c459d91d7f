import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clsnet.data.idx import DTYPES, read_idx
from clsnet.errors import ClsnetError

CODES = {np.dtype(name).newbyteorder("="): code for code, name in DTYPES.items()}
IMAGES = np.arange(3 * 4 * 5, dtype=np.uint8).reshape(3, 4, 5)


def idx(array: np.ndarray) -> bytes:
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, CODES[array.dtype], array.ndim, *array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


def complaint(path: Path, contents: bytes) -> str:
    path.write_bytes(contents)
    with pytest.raises(ClsnetError) as caught:
        read_idx(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_every_type_is_read_in_native_order(tmp_path, dtype, compress):
    array = np.arange(-3, 9).reshape(3, 2, 2).astype(dtype)
    path = tmp_path / "file"
    path.write_bytes(compress(idx(array)))
    read = read_idx(path)
    assert read.dtype == dtype and read.dtype.isnative
    np.testing.assert_array_equal(read, array)


def test_the_array_can_be_written_to(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(idx(IMAGES))
    assert read_idx(path).flags.writeable


def test_contents_and_not_the_name_tell_compression(tmp_path):
    path = tmp_path / "plain.gz"
    path.write_bytes(idx(IMAGES))
    np.testing.assert_array_equal(read_idx(path), IMAGES)


def test_an_empty_array_is_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(idx(IMAGES[:0]))
    assert read_idx(path).shape == (0, 4, 5)


def test_missing_file(tmp_path):
    with pytest.raises(ClsnetError, match=r"cannot read .*nowhere: No such file"):
        read_idx(tmp_path / "nowhere")


def test_a_folder(tmp_path):
    with pytest.raises(ClsnetError, match=r"cannot read .*: Is a directory"):
        read_idx(tmp_path)


@pytest.mark.parametrize("length", [0, 1, 3, 4, 9, 15, 16, 50, 75])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_truncated_contents(tmp_path, length, compress):
    complaint(tmp_path / "file", compress(idx(IMAGES)[:length]))


@pytest.mark.parametrize("missing", [1, 8, 20])
def test_truncated_compression(tmp_path, missing):
    message = complaint(tmp_path / "file.gz", gzip.compress(idx(IMAGES))[:-missing])
    assert "end too early" in message


def test_corrupt_compression(tmp_path):
    contents = bytearray(gzip.compress(idx(IMAGES)))
    contents[-6] ^= 1
    assert "corrupt" in complaint(tmp_path / "file.gz", contents)


@pytest.mark.parametrize("bit", range(16))
def test_bit_flipped_magic(tmp_path, bit):
    contents = bytearray(idx(IMAGES))
    contents[bit // 8] ^= 1 << bit % 8
    assert "not with 00 00" in complaint(tmp_path / "file", contents)


def test_foreign_file(tmp_path):
    assert "not with 00 00" in complaint(tmp_path / "file", b"\x89PNG\r\n\x1a\n" + bytes(99))


def test_unknown_type_code(tmp_path):
    assert "0x0a is not a type code" in complaint(tmp_path / "file", b"\0\0\x0a\1\0\0\0\0")


def test_no_dimensions(tmp_path):
    assert "0 dimensions" in complaint(tmp_path / "file", b"\0\0\x08\0\7")


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_trailing_bytes(tmp_path, compress):
    assert "more found" in complaint(tmp_path / "file", compress(idx(IMAGES) + b"\0"))


def test_wrong_dimensions(tmp_path):
    contents = struct.pack(">BBBB3I", 0, 0, 8, 3, 3, 4, 6) + IMAGES.tobytes()
    assert "(3, 4, 6) need 72 bytes of values, 60 found" in complaint(tmp_path / "file", contents)


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize("n_dims", [1, 2, 3, 255])
def test_absurd_dimensions_allocate_nothing(tmp_path, compress, n_dims):
    contents = struct.pack(f">BBBB{n_dims}I", 0, 0, 0x0E, n_dims, *[2**32 - 1] * n_dims)
    assert "are more than" in complaint(tmp_path / "file", compress(contents))


def test_empty_but_impossible_dimensions(tmp_path):
    contents = struct.pack(">BBBB200I", 0, 0, 8, 200, 0, *[2**32 - 1] * 199)
    assert "are more than" in complaint(tmp_path / "file", contents)


@given(st.binary(max_size=40))
def test_any_bytes_give_an_array_or_a_clsnet_error(tmp_path_factory, contents):
    path = tmp_path_factory.getbasetemp() / "any"
    for data in (contents, b"\0\0\x08" + contents, gzip.compress(contents)):
        path.write_bytes(data)
        try:
            assert idx(read_idx(path)) in (data, contents)
        except ClsnetError as error:
            assert str(path) in str(error)
