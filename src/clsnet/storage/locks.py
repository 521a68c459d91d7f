"""One writer at a time, on every operating system."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from clsnet.errors import ClsnetError
from clsnet.extras import needed

WAIT_SECONDS = 30.0


@contextmanager
def locked(
    path: Path, say: Callable[[str], None] | None = None, wait: float | None = None
) -> Iterator[None]:
    """Keep other processes from changing a file.

    Parameters
    ----------
    path
        The file, which need not exist. The lock lies beside it and is removed at the end.
    say
        Called with one line of text when another process has to be waited for.
    wait
        Seconds to wait for it; `WAIT_SECONDS` by default.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder) / "model"):
    ...     print([file.name for file in Path(folder).iterdir()])
    ['.model.lock']
    """
    filelock = needed("filelock", "changing a model", "vision")
    if not path.parent.is_dir():  # filelock would make it
        raise ClsnetError(f"cannot write {path}: No such file or directory.")
    lock = path.with_name(f".{path.name}.lock")
    # Threads of one process exclude each other too.
    guard = filelock.FileLock(lock, mode=0o666, thread_local=False, is_singleton=False)
    try:
        try:
            guard.acquire(timeout=0)
        except filelock.Timeout:
            if say:
                say(f"another process is changing {path}: waiting for it.")
            guard.acquire(timeout=WAIT_SECONDS if wait is None else wait, poll_interval=0.1)
    except filelock.Timeout:
        raise ClsnetError(
            f"another process is changing {path}; nothing was done. Try again later."
        ) from None
    except OSError as error:
        raise ClsnetError(_why(path, lock, error)) from None
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no open file
            lock.unlink(missing_ok=True)
        guard.release()


def _why(path: Path, lock: Path, error: OSError) -> str:
    """Return the message that says why there is no lock, and what to do."""
    if lock.is_symlink():
        return f"cannot write {path}: its lock {lock} is a symbolic link; remove it."
    if isinstance(error, PermissionError) and lock.exists():
        return (
            f"cannot write {path}: its lock {lock} belongs to {_owner(lock)}; wait for that user's "
            "clsnet to end, or have the lock removed if none is running."
        )
    return f"cannot write {path}: {error.strerror}."


def _owner(file: Path) -> str:
    try:
        return f"the user {file.owner()}"
    except (KeyError, OSError, NotImplementedError):
        return "another user"
