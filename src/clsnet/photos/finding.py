"""Which photos lie in a folder, and which of them are the same."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any

from clsnet.errors import ClsnetError
from clsnet.images import Report
from clsnet.images.decode import ENDINGS, MOST_BYTES
from clsnet.storage.files import at_home
from clsnet.storage.regular_files import open_regular

PHOTO_ENDINGS = (*ENDINGS, ".heic", ".heif")


@dataclass(frozen=True)
class Photo:
    """A file, the class whose folder it lies in, and 16 bytes that tell its contents, in hex."""

    path: Path
    label: str
    digest: str


@dataclass(frozen=True)
class Found:
    """What a folder with one folder per class holds.

    Attributes
    ----------
    photos
        Every photo once per class, sorted by class, then by path.
    unreadable
        One line about each file that cannot be opened.
    warnings
        What was left out.
    """

    photos: list[Photo]
    unreadable: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def plain(self) -> list[Any]:
        """The same as JSON can hold it."""
        photos = [[str(photo.path), photo.label, photo.digest] for photo in self.photos]
        return [photos, self.unreadable, self.warnings]

    @staticmethod
    def of(plain: list[Any]) -> Found:
        """Return what `plain` told."""
        photos, unreadable, warnings = plain
        return Found([Photo(Path(path), *rest) for path, *rest in photos], unreadable, warnings)


def find(folder: Path, report: Report | None = None) -> Found:
    """Look through a folder that holds one folder of photos for each class.

    Inside a class's folder other folders are searched too. Hidden files are left out, and
    symbolic links are followed only where they stay inside of the same class's folder. Names that
    look the same are the same class, however their accents are encoded.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     (Path(name) / "cat").mkdir()
    ...     _ = (Path(name) / "cat" / "Tom.JPG").write_bytes(b"a")
    ...     _ = (Path(name) / "cat" / "again.jpg").write_bytes(b"a")
    ...     found = find(Path(name))
    >>> [(photo.label, photo.path.name) for photo in found.photos]
    [('cat', 'Tom.JPG')]
    """
    folder = at_home(folder)
    root = folder.resolve()
    away: list[Path] = []
    try:
        entries = sorted(entry for entry in root.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise ClsnetError(f"cannot read the folder {folder}: {error.strerror}.") from None
    classes = [entry for entry in entries if entry.is_dir() and not _leads_away(entry, entry, away)]
    if not classes:
        raise ClsnetError(f"{folder} holds no folders: make one for each class, with its photos.")
    files = [
        (path, unicodedata.normalize("NFC", place.name))
        for place in classes
        for path in photos_below(place, away)
    ]
    photos: dict[tuple[str, str], Photo] = {}
    unreadable = []
    with ThreadPoolExecutor() as pool:
        digests = pool.map(_digest, [path for path, _ in files])
        for done, ((path, label), digest) in enumerate(zip(files, digests, strict=True), start=1):
            if isinstance(digest, str):
                photos.setdefault((label, digest), Photo(path, label, digest))
            else:
                unreadable.append(f"cannot read {path}: {digest.strerror}")
            if report:
                report("looking for photos", done, len(files))
    stray = sum(_is_photo(entry) and entry.is_file() for entry in entries)
    warnings = [
        _stray(stray) if stray else "",
        _not_followed(away) if away else "",
    ]
    photos_found = sorted(photos.values(), key=lambda photo: (photo.label, photo.path))
    return Found(photos_found, unreadable, [line for line in warnings if line])


def photos_below(folder: Path, away: list[Path] | None = None) -> Iterator[Path]:
    """Yield every photo in a folder and in those below it, sorted.

    Parameters
    ----------
    folder
        Where to look. Symbolic links that lead out of it are not followed.
    away
        Such links are appended here.
    """
    away = [] if away is None else away
    root = folder.resolve()
    seen: set[Path] = set()
    for name, folders, names in os.walk(folder, followlinks=True):
        place = Path(name)
        real = place.resolve()
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not _leads_away(place / name, root, away)
        )
        for path in sorted(place / name for name in names):
            if _is_photo(path) and not _leads_away(path, root, away):
                yield path


def _is_photo(path: Path) -> bool:
    return path.name.lower().endswith(PHOTO_ENDINGS) and not path.name.startswith(".")


def _leads_away(path: Path, root: Path, away: list[Path]) -> bool:
    try:
        if not path.is_symlink() or path.resolve().is_relative_to(root):
            return False
    except (OSError, RuntimeError):  # a link to itself
        pass
    away.append(path)
    return True


def _stray(n: int) -> str:
    lie = "1 photo lies" if n == 1 else f"{n} photos lie"
    return f"{lie} beside the classes' folders, not in one: left out"


def _not_followed(away: list[Path]) -> str:
    if len(away) == 1:
        return f"the symbolic link {away[0]} leads out of its class's folder: not followed"
    return (
        f"{len(away)} symbolic links lead out of their class's folder, such as {away[0]}: "
        "not followed"
    )


def _digest(path: Path) -> str | OSError:
    try:
        with open_regular(path, MOST_BYTES) as file:
            return file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        return error
