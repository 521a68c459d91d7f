"""Reading regular files only, up to a limit: no pipe or device, nothing larger."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def open_regular(path: str | os.PathLike[str], most: int | None = None) -> BufferedReader:
    """Open a file for reading, or raise `OSError` if it is a pipe, a device or too large.

    Parameters
    ----------
    path
        The file, or a link to it.
    most
        The largest number of bytes allowed.

    Examples
    --------
    >>> open_regular("/dev/zero")
    Traceback (most recent call last):
    ...
    OSError: [Errno 22] not a regular file: '/dev/zero'
    """
    _check(path, Path(path).stat(), most)  # opening a device can have effects
    descriptor = os.open(path, FLAGS)
    try:
        _check(path, os.fstat(descriptor), most)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def read_regular(path: str | os.PathLike[str], most: int) -> bytes:
    """Return the contents of a regular file of at most so many bytes, or raise `OSError`."""
    with open_regular(path, most) as file:
        return file.read(os.fstat(file.fileno()).st_size)


def _check(path: str | os.PathLike[str], found: os.stat_result, most: int | None) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    if most is not None and found.st_size > most:
        reason = f"its {found.st_size:,} bytes are more than {most:,}"
        raise OSError(errno.EFBIG, reason, os.fspath(path))
