"""The idx format of MNIST and similar sets: a magic number, the dimensions, the values."""

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from clsnet.errors import ClsnetError

DTYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
CHUNK = 1 << 20
MOST_BYTES = 1 << 29


def read_idx(path: Path) -> npt.NDArray[Any]:
    """Read an idx file, plain or compressed by gzip.

    Parameters
    ----------
    path
        The file; compression is recognised by its contents, not by its name.

    Returns
    -------
    The values in the machine's byte order, in the file's own type and dimensions.

    Raises
    ------
    ClsnetError
        If the file cannot be read, or is not exactly one complete idx array.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from clsnet.data import read_idx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "labels-idx1-ubyte"
    ...     _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 9, 0, 4]))
    ...     read_idx(path)
    array([9, 0, 4], dtype=uint8)
    """
    try:
        with path.open("rb") as file:
            compressed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            return _parse(gzip.GzipFile(fileobj=file) if compressed else file)
    except EOFError:
        reason = "the compressed data end too early"
    except (gzip.BadGzipFile, zlib.error) as error:
        reason = f"the compressed data are corrupt ({error})"
    except OSError as error:
        raise ClsnetError(f"cannot read {path}: {error.strerror or error}") from error
    except _Malformed as error:
        reason = str(error)
    raise ClsnetError(f"{path} is not a whole idx file: {reason}; replace it by a good copy")


class _Malformed(Exception):
    """Why a file is not idx."""


def _parse(file: BinaryIO | gzip.GzipFile) -> npt.NDArray[Any]:
    magic = _take(file, 4)
    if len(magic) < 4 or magic[:2] != b"\0\0":
        raise _Malformed(f"it starts with {magic.hex(' ') or 'nothing'}, not with 00 00")
    if magic[2] not in DTYPES:
        raise _Malformed(f"0x{magic[2]:02x} is not a type code")
    n_dims = magic[3]
    header = _take(file, 4 * n_dims)
    if n_dims == 0 or len(header) < 4 * n_dims:
        raise _Malformed(f"{n_dims} dimensions announced, {len(header) // 4} found")
    shape = struct.unpack(f">{n_dims}I", header)

    dtype = np.dtype(DTYPES[magic[2]])
    expected = math.prod(shape) * dtype.itemsize
    if max(expected, *shape) > MOST_BYTES:
        raise _Malformed(f"dimensions {shape} are more than {MOST_BYTES:,} bytes of values")
    values = _take(file, expected + 1)
    if len(values) != expected:
        found = "more" if len(values) > expected else f"{len(values):,}"
        raise _Malformed(f"dimensions {shape} need {expected:,} bytes of values, {found} found")
    try:
        array = np.frombuffer(values, dtype).reshape(shape)
    except ValueError as error:
        raise _Malformed(f"dimensions {shape} are impossible ({error})") from error
    return array.astype(dtype.newbyteorder("="), copy=False)


def _take(file: BinaryIO | gzip.GzipFile, size: int) -> bytearray:
    # In chunks: a header may announce terabytes, and read(size) would allocate them.
    taken = bytearray()
    while chunk := file.read(min(CHUNK, size - len(taken))):
        taken += chunk
    return taken
