"""The file of a model: one writer at a time, and the version before the last change.

While a file is replaced, its second name keeps it. What a killed process leaves is put in order by
the next command on the model.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from clsnet.arrays.restarts import folder_beside, is_again
from clsnet.errors import ClsnetError
from clsnet.model import Model
from clsnet.storage.files import at_home, leftovers, sweep, write_atomically
from clsnet.storage.locks import locked


def version_before(path: Path) -> Path:
    """Return where the version before the last change is kept."""
    return path.with_name(f"{path.name}.undo")


def unfinished(path: Path) -> list[Path]:
    """List what killed processes left beside a model."""
    second = _second_name(path)
    others = [file for one in (path, second) for file in leftovers(one)]
    return [*filter(Path.exists, (second, folder_beside(path))), *others]


def lying_beside(path: Path) -> list[Path]:
    """List the version before, if there is one, and what killed processes left."""
    path = at_home(path).resolve()
    before = version_before(path)
    return [*([before] if before.exists() else []), *unfinished(path)]


def put_in_order(path: Path) -> None:
    """Finish or remove what killed processes left, unless somebody is changing the model now."""
    path = at_home(path).resolve()
    if unfinished(path):
        with contextlib.suppress(ClsnetError), locked(path, wait=0):
            _finish(path)
            _remove_features(path)


def remove_others(path: Path) -> list[Path]:
    """Remove and return the version before, and whatever else of the model lies beside it."""
    _remove_features(path)
    others = lying_beside(path)
    for file in others:
        file.unlink(missing_ok=True)
    return others


@contextlib.contextmanager
def changing(path: Path, say: Callable[[str], None] | None = None) -> Iterator[Path]:
    """Keep others from changing a model, and yield its real path.

    Parameters
    ----------
    path
        The model, which need not exist yet.
    say
        Called with one line of text when another process has to be waited for.
    """
    path = at_home(path).resolve()
    _check_writable(path)
    with locked(path, say):
        _finish(path)
        if not is_again():
            _remove_features(path)
        yield path


def save(model: Model, path: Path, self_contained: bool = False) -> None:
    """Write a model and keep the version that was there; one of them exists at any moment."""
    if not path.exists():
        version_before(path).unlink(missing_ok=True)  # that of a model deleted long ago
        model.save(path, self_contained=self_contained)
        return
    with _kept(path) as before:
        model.save(path, self_contained=self_contained)
        before.replace(version_before(path))


def swap(path: Path) -> None:
    """Exchange a model and its version before."""
    with _kept(path) as now:
        version_before(path).replace(path)
        now.replace(version_before(path))


def _second_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.before")


@contextlib.contextmanager
def _kept(path: Path) -> Iterator[Path]:
    """Give a file a second name, so that replacing the first does not lose it."""
    second = _second_name(path)
    try:
        try:
            second.hardlink_to(path)
        except OSError:  # some file systems have no hard links
            write_atomically(second, path.read_bytes())
        yield second
    except OSError as error:
        raise ClsnetError(f"cannot write {path}: {error.strerror}; it is unchanged.") from None
    finally:
        _finish(path)


def _finish(path: Path) -> None:
    """Bring an interrupted change to its end; only who holds the lock may."""
    second = _second_name(path)
    with contextlib.suppress(OSError):
        if path.exists() and second.exists() and not filecmp.cmp(path, second, shallow=False):
            second.replace(version_before(path))  # the model was replaced: this is what it was
        second.unlink(missing_ok=True)
    sweep(path)
    sweep(second)


def _remove_features(path: Path) -> None:
    """Remove what processes of ``torchrun`` kept for a restart that never came."""
    shutil.rmtree(folder_beside(path), ignore_errors=True)


def _check_writable(path: Path) -> None:
    if path.is_dir():
        raise ClsnetError(f"cannot write {path}: it is a folder; name a file, such as a.clsnet.")
    if path.exists() and not (path.stat().st_mode & 0o222 and os.access(path, os.W_OK)):
        raise ClsnetError(f"cannot write {path}: it is read-only.")
