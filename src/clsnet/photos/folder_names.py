"""Names for folders and files that every system accepts and that are still free."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Container, Iterable
from pathlib import PurePath

UNSURE = "unsure"
LONGEST = 100  # bytes of a folder's name
LONGEST_FILE = 240  # bytes of a file's name
FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # of Windows


def folder_names(classes: Iterable[str]) -> dict[str, str]:
    """Return a folder name for each class, all different on every system.

    Examples
    --------
    >>> folder_names(["cat", "Cat", "../etc", "unsure"])
    {'cat': 'cat', 'Cat': 'Cat (2)', '../etc': '_etc', 'unsure': 'unsure (2)'}
    """
    taken = {UNSURE}
    names = {}
    for label in classes:
        names[label] = free_name(_safe(label), taken)
        taken.add(names[label].casefold())
    return names


def free_name(name: str, taken: Container[str], ending: str = "") -> str:
    """Return a name that is free, with a number added if necessary.

    Parameters
    ----------
    name, ending
        What comes before a number, and after it.
    taken
        Names that are taken, casefolded.

    Examples
    --------
    >>> free_name("cat", {"cat.jpg", "cat (2).jpg"}, ".jpg")
    'cat (3).jpg'
    """
    found, number = name + ending, 1
    while found.casefold() in taken:
        number += 1
        found = f"{name} ({number}){ending}"
    return found


def free_file_name(name: str, taken: Collection[str]) -> str:
    """Return a file name that is free, with a number before its ending if necessary.

    Examples
    --------
    >>> free_file_name("Tom.JPG", {"tom.jpg"})
    'Tom (2).JPG'
    """
    ending = PurePath(name).suffix
    stem = _cut(name.removesuffix(ending), LONGEST_FILE - len(os.fsencode(ending)))
    return free_name(stem, taken, ending)


def _safe(label: str) -> str:
    """Return a name that is no path, is not hidden, and is valid on Windows."""
    name = FORBIDDEN.sub("_", label).strip().lstrip(".")
    name = _cut(name, LONGEST).rstrip(". ")
    if not name or DEVICES.fullmatch(name):
        return f"class {name}".rstrip()
    return name


def _cut(name: str, most: int) -> str:
    """Return the beginning of a name that fits into so many bytes."""
    while len(os.fsencode(name)) > most:
        name = name[:-1]
    return name
