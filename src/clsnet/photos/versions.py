"""The file of a model: one writer at a time, and the version before the last change."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from clsnet.errors import ClsnetError
from clsnet.model import Model
from clsnet.storage.locks import locked


def version_before(path: Path) -> Path:
    """Return where the version before the last change is kept."""
    return path.with_name(f"{path.name}.undo")


@contextlib.contextmanager
def changing(path: Path, say: Callable[[str], None] | None = None) -> Iterator[Path]:
    """Keep others from changing a model, and yield its real path.

    Parameters
    ----------
    path
        The model, which need not exist yet.
    say
        Called with a line when another process has to be waited for.
    """
    path = path.expanduser().resolve()
    _check_writable(path)
    with locked(path, say):
        yield path


def save(model: Model, path: Path, self_contained: bool = False) -> None:
    """Write a model and keep the version that was there; one of them exists at any moment."""
    if not path.exists():
        model.save(path, self_contained=self_contained)
        version_before(path).unlink(missing_ok=True)  # that of a model deleted long ago
        return
    with _second_name(path) as before:
        model.save(path, self_contained=self_contained)
        before.replace(version_before(path))


def swap(path: Path) -> None:
    """Exchange a model and its version before."""
    with _second_name(path) as now:
        version_before(path).replace(path)
        now.replace(version_before(path))


@contextlib.contextmanager
def _second_name(path: Path) -> Iterator[Path]:
    """Give a file a second name, so that replacing the first does not lose it."""
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
