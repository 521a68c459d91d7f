"""The journal of `sort`, from which `unsort` undoes it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from clsnet.errors import ClsnetError
from clsnet.photos.finding import is_photo
from clsnet.storage.files import write_atomically
from clsnet.storage.json_text import LONGEST, read_json
from clsnet.storage.regular_files import read_regular
from clsnet.storage.schema import FLAG, Kind, Misfit, listed, record, row, text

NAME = ".clsnet-sorted.json"
PATH = text(4096, shortest=1)
RUN = record(
    {
        "date": text(100),
        "moved": FLAG,
        "folders": listed(text(255, shortest=1), most=10**6),
        "photos": listed(row(PATH, PATH, text(64)), most=10**6),
    }
)
RUNS: Kind = record({"sorted": listed(RUN, most=10**5)})


@dataclass(frozen=True)
class Run:
    """Photos that were sorted in one call; after an interruption, some may not have been moved yet.

    Attributes
    ----------
    date
        When.
    moved
        Whether they were moved, not copied.
    folders
        Names of the folders that were made for them.
    photos
        For each photo: its old path, its new path inside the folder, and its digest.
    """

    date: str
    moved: bool
    folders: list[str]
    photos: list[tuple[str, str, str]]


def read_journal(folder: Path) -> list[Run]:
    """Read the journal of a folder, oldest call first."""
    path = folder / NAME
    if not path.exists():
        return []
    try:
        found = read_json(read_regular(path, LONGEST))
        RUNS.check(found, "the journal")
        return [_run(one) for one in found["sorted"]]
    except Misfit as error:
        raise ClsnetError(f"{path} is damaged or no journal of clsnet sort: {error}.") from None
    except OSError as error:
        raise ClsnetError(f"cannot read {path}: {error.strerror}.") from None


def write_journal(folder: Path, runs: list[Run]) -> None:
    """Write the journal of a folder."""
    path = folder / NAME
    if not runs:
        path.unlink(missing_ok=True)
        return
    data = json.dumps({"sorted": [asdict(run) for run in runs]}).encode()
    try:
        read_json(data)
    except Misfit:
        raise ClsnetError("too many photos to sort at once; sort some of them first.") from None
    write_atomically(path, data)


def _run(saved: dict[str, Any]) -> Run:
    """Return a run whose paths are those of photos, the new ones within the folder."""
    photos = [(old, new, digest) for old, new, digest in saved["photos"]]
    for old, new, _ in photos:
        place = PurePosixPath(new)
        inside = len(place.parts) == 2 and not place.is_absolute() and ".." not in place.parts
        if not inside or not is_photo(place.name):
            raise Misfit("a photo's new path is not one that sorting creates")
        if not Path(old).is_absolute() or ".." in Path(old).parts or not is_photo(Path(old).name):
            raise Misfit("a photo's old path is not one of a photo")
    for name in saved["folders"]:
        if PurePosixPath(name).name != name or name in (".", ".."):
            raise Misfit("a folder's name is not valid")
    return Run(saved["date"], saved["moved"], saved["folders"], photos)
