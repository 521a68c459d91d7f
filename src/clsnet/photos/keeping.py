"""The file of a model: one writer at a time, and the version before kept beside it."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from clsnet.errors import ClsnetError
from clsnet.estimator.clsnet import CLSNet

try:
    import fcntl
except ImportError:  # Windows: the last writer wins
    fcntl = None  # type: ignore[assignment]

PATIENCE = 30.0
PAUSE = 0.1


def version_before(path: Path) -> Path:
    """Where the version before the last change is kept."""
    return path.with_name(f"{path.name}.undo")


@contextlib.contextmanager
def changing(path: Path, say: Callable[[str], None] | None = None) -> Iterator[Path]:
    """Let nobody else change a model, and yield where it really lies.

    Parameters
    ----------
    path
        The model, which need not be there yet.
    say
        Told when another process has to be waited for.
    """
    path = path.expanduser().resolve()
    _check_writable(path)
    lock = path.with_name(f".{path.name}.lock")
    handle = _locked(lock, path, say)
    try:
        yield path
    finally:
        lock.unlink(missing_ok=True)
        os.close(handle)


def save(model: CLSNet, path: Path, self_contained: bool = False) -> None:
    """Write a model, and keep the version that was there; at any moment one of them is there."""
    if not path.exists():
        model.save(path, self_contained=self_contained)
        version_before(path).unlink(missing_ok=True)  # that of another model, long gone
        return
    with _kept(path) as before:
        model.save(path, self_contained=self_contained)
        before.replace(version_before(path))


def swap(path: Path) -> None:
    """Exchange a model and its version before."""
    with _kept(path) as now:
        version_before(path).replace(path)
        now.replace(version_before(path))


@contextlib.contextmanager
def _kept(path: Path) -> Iterator[Path]:
    """Hold on to a file under a second name, for as long as nothing takes it away."""
    second = path.with_name(f".{path.name}.before")
    try:
        second.unlink(missing_ok=True)
        try:
            second.hardlink_to(path)
        except OSError:  # some file systems have no hard links
            shutil.copy2(path, second)
        yield second
    except OSError as error:
        raise ClsnetError(f"cannot write {path}: {error.strerror}; it is as it was.") from None
    finally:
        second.unlink(missing_ok=True)


def _check_writable(path: Path) -> None:
    if path.is_dir():
        raise ClsnetError(f"cannot write {path}: it is a folder; name a file, such as a.clsnet.")
    if path.exists() and not (path.stat().st_mode & 0o222 and os.access(path, os.W_OK)):
        raise ClsnetError(f"cannot write {path}: it is read-only.")


def _locked(lock: Path, path: Path, say: Callable[[str], None] | None) -> int:
    """Return a handle of the lock file, once it is ours."""
    until = time.monotonic() + PATIENCE
    waited = False
    while True:
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise ClsnetError(f"cannot write {path}: {error.strerror}.") from None
        if _take(handle, lock):
            return handle
        os.close(handle)
        if say and not waited:
            say(f"another process is changing {path}: waiting for it.")
        waited = True
        if time.monotonic() > until:
            raise ClsnetError(
                f"another process is changing {path}: nothing was done; try again when it is done."
            )
        time.sleep(PAUSE)


def _take(handle: int, lock: Path) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(handle), lock.stat())  # not one that its owner removed
    except OSError:
        return False
