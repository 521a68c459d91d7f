"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from clsnet.errors import ClsnetError


def write_atomically(path: Path, data: bytes) -> None:
    """Write to a temporary file beside `path`, sync it, and rename it over what was there.

    Examples
    --------
    >>> folder = tempfile.TemporaryDirectory()
    >>> write_atomically(Path(folder.name) / "a", b"whole")
    >>> [file.name for file in Path(folder.name).iterdir()]
    ['a']
    >>> folder.cleanup()
    """
    target = path.resolve()
    temporary = ""
    try:
        if target.exists() and not target.is_file():
            reason = "Is a directory" if target.is_dir() else "Not a regular file"
            raise ClsnetError(f"cannot write {path}: {reason}.")
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        Path(temporary).chmod(mode)
        Path(temporary).replace(target)
    except OSError as error:
        unharmed = "; it is as it was" if temporary else ""
        raise ClsnetError(f"cannot write {path}: {error.strerror}{unharmed}.") from None
    finally:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
    _sync_folder(target.parent)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
