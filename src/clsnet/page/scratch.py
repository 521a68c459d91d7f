"""A private folder for files that are gone when they were used."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import filelock

START = "clsnet-uploads-"
SOURCE = "uploads"  # what a model notes as the folder that photos came from


class Scratch:
    """A private folder for uploads. Those of processes that were killed are removed at the start.

    Examples
    --------
    >>> scratch = Scratch()
    >>> with scratch.places() as place:
    ...     photo = place(".jpg")
    ...     photo.write_bytes(b"a photo")
    7
    >>> photo.exists()
    False
    >>> scratch.close()
    """

    def __init__(self) -> None:
        self.sweep()
        self.root = Path(tempfile.mkdtemp(prefix=START))  # only this user may enter
        self._claim = filelock.FileLock(self.root / "lock", thread_local=False)
        self._claim.acquire()
        (self.root / SOURCE).mkdir()

    @contextmanager
    def places(self) -> Iterator[Callable[[str], Path]]:
        """Yield what gives places for new files, by their ending; they are removed at the end."""
        start = secrets.token_hex(8)
        made: list[Path] = []

        def place(ending: str) -> Path:
            made.append(self.root / SOURCE / f"{start}-{len(made):04}{ending}")
            return made[-1]

        try:
            yield place
        finally:
            for path in made:
                with suppress(OSError):  # Windows removes no open file
                    path.unlink(missing_ok=True)

    def close(self) -> None:
        """Remove everything."""
        self._claim.release()
        shutil.rmtree(self.root, ignore_errors=True)

    @staticmethod
    def sweep() -> None:
        """Remove folders that no running process claims."""
        for folder in Path(tempfile.gettempdir()).glob(f"{START}*"):
            with suppress(OSError, filelock.Timeout):
                if folder.is_symlink() or not (folder / "lock").is_file():
                    continue
                with filelock.FileLock(folder / "lock", timeout=0):
                    for place in folder.iterdir():
                        if place.is_dir():
                            shutil.rmtree(place, ignore_errors=True)
                shutil.rmtree(folder, ignore_errors=True)
