"""Files that are written completely or not at all."""

from __future__ import annotations

import errno
import importlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from clsnet.errors import ClsnetError
from clsnet.storage.regular_files import open_regular

try:
    fcntl: Any = importlib.import_module("fcntl")
except ImportError:  # Windows removes and renames no open file
    fcntl = None

ENDING = ".tmp"
COPY = "copy"
NEW = os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def at_home(path: str | os.PathLike[str]) -> Path:
    """Return a path with ``~`` expanded to a home folder.

    Examples
    --------
    >>> at_home("~nobody-of-that-name/model")
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: there is no home folder for ~nobody-of-that-name/model.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise ClsnetError(f"there is no home folder for {path}.") from None


def write_atomically(path: Path, data: bytes) -> None:
    """Write to a temporary file beside `path`, sync it, and rename it to `path`.

    Temporary files that killed processes left there are removed.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> write_atomically(Path(folder.name) / "a", b"whole")
    >>> [file.name for file in Path(folder.name).iterdir()]
    ['a']
    >>> folder.cleanup()
    """
    target = path.resolve()
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}{ENDING}")
    made, mode = False, None
    try:
        if target.exists() and not target.is_file():
            reason = "Is a directory" if target.is_dir() else "Not a regular file"
            raise ClsnetError(f"cannot write {path}: {reason}.")
        sweep(target)
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
        descriptor = os.open(temporary, os.O_WRONLY | NEW, 0o666 if mode is None else 0o600)
        made = True
        with os.fdopen(descriptor, "wb") as file:
            _claim(descriptor)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
            if mode is not None:
                temporary.chmod(mode)
            if fcntl:
                temporary.replace(target)  # while it is claimed, nobody sweeps it away
        if not fcntl:
            temporary.replace(target)
    except OSError as error:
        unharmed = "; it is unchanged" if mode is not None else ""
        raise ClsnetError(f"cannot write {path}: {error.strerror}{unharmed}.") from None
    finally:
        if made:
            temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def copy_to_free_place(source: Path, target: Path) -> None:
    """Copy a file with its dates, or raise `FileExistsError` if there is something already.

    If the process is killed, `sweep` removes what it left, as temporary files of the name `COPY`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "a").write_bytes(b"whole")
    ...     copy_to_free_place(Path(folder) / "a", Path(folder) / "b")
    ...     sorted(file.name for file in Path(folder).iterdir())
    ['a', 'b']
    """
    temporary = target.with_name(f".{COPY}.{secrets.token_hex(4)}{ENDING}")
    with open_regular(source) as original:
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | NEW, 0o600), "wb") as file:
                _claim(file.fileno())
                shutil.copyfileobj(original, file)
                file.flush()
                os.fsync(file.fileno())
            with suppress(OSError):  # not every file system keeps all of it
                shutil.copystat(source, temporary)
            _rename_to_free_place(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def move_to_free_place(source: Path, target: Path) -> None:
    """Move a file, or raise `FileExistsError` if there is something already.

    At every moment the file is at one of the two places, or at both.
    """
    try:
        _rename_to_free_place(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copy_to_free_place(source, target)
        _remove_or_undo(source, target)
    _sync_folder(target.parent)


def _rename_to_free_place(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)  # unlike a rename, it replaces nothing
    except FileExistsError:
        raise
    except OSError:  # some file systems have no hard links
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        source.rename(target)
        return
    _remove_or_undo(source, target)


def _remove_or_undo(source: Path, target: Path) -> None:
    """Remove a file that is at another place now, or remove that one if it must stay."""
    try:
        source.unlink()
    except OSError:
        target.unlink()
        raise


def leftovers(path: Path) -> list[Path]:
    """List the temporary files of `path` that no process is writing any more."""
    return [file for file in _temporaries(path) if not _is_claimed(file)]


def sweep(path: Path) -> None:
    """Remove the temporary files of `path` that killed processes left.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / ".model.0123abcd.tmp").touch()
    ...     sweep(Path(folder) / "model")
    ...     list(Path(folder).iterdir())
    []
    """
    for file in leftovers(path):
        with suppress(OSError):
            file.unlink(missing_ok=True)


def _temporaries(path: Path) -> Iterator[Path]:
    start = f".{path.name}."
    with suppress(OSError):
        for file in path.parent.iterdir():
            random = file.name.removeprefix(start).removesuffix(ENDING)
            if file.name == f"{start}{random}{ENDING}" and len(random) == 8 and not _is_link(file):
                yield file


def _is_link(file: Path) -> bool:
    return not stat.S_ISREG(file.lstat().st_mode)


def _claim(descriptor: int) -> None:
    """Tell other processes that a temporary file is being written."""
    if fcntl:
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_claimed(file: Path) -> bool:
    if not fcntl:
        return False
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return True  # it is gone, or somebody else's
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
