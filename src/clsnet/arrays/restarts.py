"""Finished work of processes under ``torchrun --max-restarts``, kept until the run ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from clsnet.arrays.ranks import n_ranks, rank, told

_folder: Path | None = None
_calls = 0


@contextmanager
def surviving(folder: Path) -> Iterator[None]:
    """Within this context, processes that may be restarted save their finished work.

    A restarted process makes the same calls in the same order and finds its earlier work. Without
    ``--max-restarts``, and in a single process, nothing happens.

    Parameters
    ----------
    folder
        The folder to save in. It is removed at the end of a run, and at the start of a new one.
    """
    global _folder, _calls
    if n_ranks() == 1 or told("TORCHELASTIC_MAX_RESTARTS", 0) == 0:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    if not is_again():
        _remove(folder)
    before, _folder, _calls = (_folder, _calls), folder, 0
    try:
        yield
    finally:
        _folder, _calls = before
    _remove(folder)
    with suppress(OSError):  # the last one to leave
        folder.rmdir()


def folder_beside(path: Path) -> Path:
    """Return where work on a file is kept.

    Examples
    --------
    >>> folder_beside(Path("pets.clsnet")).name
    '.pets.clsnet.restart'
    """
    return path.with_name(f".{path.name}.restart")


def is_again() -> bool:
    """Whether ``torchrun`` has started this process again."""
    return told("TORCHELASTIC_RESTART_COUNT", 0) > 0


def place() -> Path | None:
    """Return the beginning of names for files of the next piece of work, or None: save nothing."""
    global _calls
    if _folder is None or n_ranks() == 1:
        return None
    _calls += 1
    return _folder / f"{_start()}{_calls}"


def _start() -> str:
    return f"{rank()}-of-{n_ranks()}-"


def _remove(folder: Path) -> None:
    for file in folder.glob(f"{_start()}*"):
        file.unlink()
