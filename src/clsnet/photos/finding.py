"""Finding the photos in a folder, and duplicates among them."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import blake2b, file_digest
from itertools import chain
from pathlib import Path
from typing import Any

from clsnet.errors import ClsnetError
from clsnet.images import Report
from clsnet.images.decode import MOST_BYTES
from clsnet.images.endings import PHOTOS, ending
from clsnet.photos.left_out import LeftOut
from clsnet.storage.files import at_home
from clsnet.storage.regular_files import open_regular

PART = 16  # files that a thread reads before another one may wait for it


@dataclass(frozen=True)
class Photo:
    """A file, the class whose folder it is in, and a 16-byte digest of its contents, in hex."""

    path: Path
    label: str
    digest: str


@dataclass(frozen=True)
class Found:
    """The photos in a folder that has one folder per class.

    Attributes
    ----------
    photos
        Every photo, once per class, sorted by class, then by path.
    unreadable
        One line about each file that cannot be opened.
    warnings
        One line about each kind of file that was left out.
    """

    photos: list[Photo]
    unreadable: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def plain(self) -> list[Any]:
        """Return the same as JSON-compatible values."""
        photos = [[str(photo.path), photo.label, photo.digest] for photo in self.photos]
        return [photos, self.unreadable, self.warnings]

    @staticmethod
    def of(plain: list[Any]) -> Found:
        """Return what `plain` described."""
        photos, unreadable, warnings = plain
        return Found([Photo(Path(path), *rest) for path, *rest in photos], unreadable, warnings)


def find(folder: Path, report: Report | None = None) -> Found:
    """Look through a folder that holds one folder of photos for each class.

    Folders inside a class's folder are searched, too. Hidden files are left out, and symbolic links
    are followed only if they stay inside the folder of the same class. Names that look the same are
    the same class, however their accents are encoded.

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
    root, left = folder.resolve(), LeftOut()
    try:
        entries = sorted(root.iterdir())
    except OSError as error:
        raise ClsnetError(f"cannot read the folder {folder}: {error.strerror}.") from None
    left.hidden = [entry for entry in entries if entry.name.startswith(".") and entry.is_dir()]
    entries = [entry for entry in entries if not entry.name.startswith(".")]
    places = [entry for entry in entries if entry.is_dir() and not _leads_away(entry, entry, left)]
    classes = {place: unicodedata.normalize("NFC", place.name) for place in places}
    if not classes:
        raise ClsnetError(f"{folder} holds no folders: make one for each class, with its photos.")
    files = [
        (path, label)
        for place, label in classes.items()
        for path in photos_below(place, left, label)
    ]
    photos: dict[tuple[str, str], Photo] = {}
    unreadable = []
    with ThreadPoolExecutor() as pool:
        parts = pool.map(_digests_of, [files[i : i + PART] for i in range(0, len(files), PART)])
        digests = chain.from_iterable(parts)
        for done, ((path, label), digest) in enumerate(zip(files, digests, strict=True), start=1):
            if isinstance(digest, str):
                photos.setdefault((label, digest), Photo(path, label, digest))
            else:
                unreadable.append(f"cannot read {path}: {digest.strerror}")
            if report:
                report("looking for photos", done, len(files))
    left.stray = sum(is_photo(entry.name) and entry.is_file() for entry in entries)
    found = sorted(photos.values(), key=lambda photo: (photo.label, photo.path))
    lines = left.lines({*classes.values()} - {photo.label for photo in found})
    return Found(found, unreadable, lines)


def photos_below(folder: Path, left: LeftOut | None = None, label: str = "") -> Iterator[Path]:
    """Yield every photo in a folder and its subfolders, sorted.

    Parameters
    ----------
    folder
        Where to look. Symbolic links that lead out of it are not followed.
    left
        What is left out is noted here, and so are photos that nothing installed can read. Without
        it, a folder that cannot be read is an error.
    label
        The class to note it under.
    """
    noted = LeftOut() if left is None else left
    root = folder.resolve()
    seen: set[Path] = set()

    def unopened(error: OSError) -> None:
        if left is None:
            raise ClsnetError(f"cannot read the folder {error.filename}: {error.strerror}.")
        left.unopened.append((error, label))

    for name, folders, names in os.walk(folder, onerror=unopened, followlinks=True):
        place = Path(name)
        real = place.resolve()
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        noted.hidden += [place / name for name in folders if name.startswith(".")]
        noted.hidden += [place / name for name in names if is_hidden_photo(name)]
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not _leads_away(place / name, root, noted)
        )
        for path in sorted(place / name for name in names if not name.startswith(".")):
            if _leads_away(path, root, noted) or (left and left.takes(path.name, label)):
                continue
            if is_photo(path.name):
                yield path


def is_photo(name: str) -> bool:
    """Whether a file name has an ending of photos."""
    return ending(name) in PHOTOS and not name.startswith(".")


def is_hidden_photo(name: str) -> bool:
    """Whether a file would be a photo if its name did not begin with a dot."""
    return name.startswith(".") and is_photo(name.lstrip("."))


def _leads_away(path: Path, root: Path, left: LeftOut) -> bool:
    try:
        if not path.is_symlink() or path.resolve().is_relative_to(root):
            return False
    except (OSError, RuntimeError):  # a link to itself
        pass
    left.links.append(path)
    return True


def _digests_of(files: Sequence[tuple[Path, str]]) -> list[str | OSError]:
    return [digest_of(path) for path, _ in files]


def digest_of(path: Path) -> str | OSError:
    """Return a 16-byte digest of a photo's contents, in hex, or the error that prevents it."""
    try:
        with open_regular(path, MOST_BYTES) as file:
            return file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        return error
