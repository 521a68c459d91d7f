"""Files in a folder of photos that are left out, reported in a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path

from clsnet.images.endings import INSTALL, OTHERS, PHOTOS, ending, kind_of, missing
from clsnet.photos.wording import listed, many

ENDINGS = 5  # that a line names


class LeftOut:
    """Collects what is left out of the folders of classes.

    Attributes
    ----------
    links : list of Path
        Symbolic links that lead out of their class's folder.
    unread : Counter
        Images, by class and ending, that nothing installed can read.
    others : Counter
        Other files by class and ending.
    stray : int
        Number of photos beside the folders of classes.
    hidden : list of Path
        Folders, and photos, whose names begin with a dot.
    unopened : list of (OSError, str)
        Why a folder cannot be read, and its class.
    """

    def __init__(self) -> None:
        self.links: list[Path] = []
        self.unread: Counter[tuple[str, str]] = Counter()
        self.others: Counter[tuple[str, str]] = Counter()
        self.stray = 0
        self.hidden: list[Path] = []
        self.unopened: list[tuple[OSError, str]] = []

    def takes(self, name: str, label: str) -> bool:
        """Note a file of a class, unless it is a photo that can be read."""
        end = ending(name)
        if end in OTHERS or missing(kind_of(name)):
            self.unread[label, end] += 1
        elif end not in PHOTOS:
            self.others[label, end] += 1
        else:
            return False
        return True

    def lines(self, without_photos: Collection[str]) -> list[str]:
        """Return the lines to report, given the classes that have no photo."""
        lines = [self._stray(), self._links(), self._hidden()]
        lines += [f"cannot read the folder {e.filename}: {e.strerror}" for e, _ in self.unopened]
        lines += [_not_read(label, end, n) for (label, end), n in sorted(self.unread.items())]
        lines += [self._others(), self._without_photos(without_photos)]
        return [line for line in lines if line]

    def _stray(self) -> str:
        lie = "lies" if self.stray == 1 else "lie"
        where = "beside the classes' folders, not in one: left out"
        return f"{many(self.stray, 'photo')} {lie} {where}" if self.stray else ""

    def _links(self) -> str:
        if not self.links:
            return ""
        first = self.links[0]
        if len(self.links) == 1:
            return f"the symbolic link {first} leads out of its class's folder: not followed"
        n = many(len(self.links), "symbolic link")
        return f"{n} lead out of their class's folder, such as {first}: not followed"

    def _hidden(self) -> str:
        if not self.hidden:
            return ""
        n, first = len(self.hidden), self.hidden[0]
        if n == 1:
            return f"{first} begins with a dot, so it is hidden: left out"
        return f"{n} names begin with a dot, such as {first}, so they are hidden: left out"

    def _others(self) -> str:
        n = self.others.total()
        no_photos = "is no photo" if n == 1 else "are no photos"
        return f"{many(n, 'file')} {no_photos} ({_endings(self.others)}): left out" if n else ""

    def _without_photos(self, labels: Collection[str]) -> str:
        names = [f"{label} ({self._why(label)})" for label in sorted(labels)]
        where = "the folder" if len(names) == 1 else f"{len(names):,} folders:"
        return f"there is no photo in {where} {listed(names)}" if names else ""

    def _why(self, label: str) -> str:
        own = {key: 1 for key in (*self.unread, *self.others) if key[0] == label}
        if own:
            return f"only {_endings(own)} files"
        for error, unopened in self.unopened:
            if unopened == label:
                return f"{error.strerror}"
        linked = any(label in link.parts for link in self.links)
        return "only links that are not followed" if linked else "no readable file"


def _not_read(label: str, end: str, n: int) -> str:
    files = many(n, f"{end} file")
    cure = INSTALL if end in PHOTOS else f"convert {'it' if n == 1 else 'them'} to JPEG"
    return f"{label}: {files} {'was' if n == 1 else 'were'} not read; {cure}"


def _endings(counts: Collection[tuple[str, str]]) -> str:
    return listed(sorted({end or "nameless" for _, end in counts}), ENDINGS)
