"""Sorting photos into a folder for each class."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from clsnet.errors import ClsnetError
from clsnet.header import read
from clsnet.images import Report
from clsnet.photos.finding import digest_of, is_photo
from clsnet.photos.folder_names import UNSURE, folder_names, free_file_name
from clsnet.photos.journal import NAME, Run, read_journal, write_journal
from clsnet.photos.predicting import REJECT, Prediction, photo_files, predict
from clsnet.photos.record import now
from clsnet.photos.unsorting import undone
from clsnet.storage.files import COPY, at_home, copy_to_free_place, move_to_free_place, sweep
from clsnet.storage.locks import locked


@dataclass(frozen=True)
class Placed:
    """A photo, and its place among the sorted ones.

    Attributes
    ----------
    source, target
        Where it was, and where it is or would be.
    label
        Its class; None if it is none of these.
    probability
        Of the most probable class.
    digest
        What tells its contents.
    """

    source: Path
    target: Path
    label: str | None
    probability: float
    digest: str


@dataclass(frozen=True)
class Sorted:
    """What was sorted, or without ``go`` would be.

    Attributes
    ----------
    photos
        Photos with their places.
    left
        One line about each photo that stays where it is.
    known
        Photos that are there already, most of them copied before.
    moved
        Whether they were moved, not copied.
    done
        Whether it was done.
    """

    photos: list[Placed]
    left: list[str] = field(default_factory=list)
    known: int = 0
    moved: bool = False
    done: bool = False


def sort(
    model: str | os.PathLike[str],
    paths: Iterable[str | os.PathLike[str]],
    into: str | os.PathLike[str],
    *,
    move: bool = False,
    go: bool = False,
    reject: float = REJECT,
    report: Report | None = None,
    say: Callable[[str], None] | None = None,
    allow: str | Collection[str] = (),
) -> Sorted:
    """Sort photos into a folder for each class; those of no class go to the folder ``unsure``.

    Nothing is ever overwritten: a name that is taken gets a number. What is about to be done is
    written into a journal first, so that `unsort` can undo it, even if it was interrupted;
    `KeyboardInterrupt` then says how many photos were sorted. Photos that cannot be read stay where
    they are.

    Parameters
    ----------
    model
        The file of the model.
    paths
        Photos and folders of photos.
    into
        The folder that holds the folders of the classes; made if it is not there.
    move
        Move photos, and do not copy them.
    go
        Do it; otherwise only find out what would be done.
    reject
        As for `predict`.
    report
        Called as `report(stage, done, total)`, in photos.
    say
        Called with one line of text when another process has to be waited for.
    allow
        Networks that the file may refer to, such as ``"hf:NAME"``; see `clsnet.load`.

    Examples
    --------
    >>> import tempfile
    >>> from clsnet.photos import sort
    >>> with tempfile.TemporaryDirectory() as name:
    ...     sort("pets.clsnet", [name], f"{name}/sorted")
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: ...sorted lies in what is to be sorted: name another folder.
    """
    folder, given = at_home(into).resolve(), [at_home(path) for path in paths]
    _check_apart(folder, given)
    files, left = _sources(photo_files(given))
    answers = predict(model, files, reject=reject, report=report, allow=allow) if files else []
    left += [answer.unreadable for answer in answers if answer.unreadable]
    good = [answer for answer in answers if not answer.unreadable]
    names = folder_names(read(at_home(model))[0]["labels"])
    if not go:
        return _planned(folder, good, names, left, move)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ClsnetError(f"cannot make the folder {into}: {error.strerror}.") from None
    with locked(folder / NAME, say):
        plan = _planned(folder, good, names, left, move)
        if plan.photos:
            _do(folder, plan)
    return Sorted(plan.photos, plan.left, plan.known, move, done=True)


def _check_apart(folder: Path, given: Sequence[Path]) -> None:
    """Refuse to sort into what is read."""
    if folder.exists() and not folder.is_dir():
        raise ClsnetError(f"{folder} is a file: name a folder.")
    for path in given:
        real = path.resolve()
        if path.is_dir() and folder.is_relative_to(real):
            where = "is" if folder == real else "lies in"
            raise ClsnetError(f"{folder} {where} what is to be sorted: name another folder.")
        if not path.is_dir() and real.parent == folder:
            raise ClsnetError(f"{path} lies in {folder} already: name another folder.")


def _sources(files: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Return each file once, and a line about each that is not to be sorted."""
    found: dict[Path, None] = {}
    left = []
    for file in files:
        if file.is_symlink():
            left.append(f"{file} is a symbolic link: left where it is")
        elif not is_photo(file.name):
            left.append(f"{file} does not end as photos do: left where it is")
        else:
            found[file.resolve()] = None
    return list(found), left


def _planned(
    folder: Path,
    answers: Sequence[Prediction],
    names: Mapping[str, str],
    left: Sequence[str],
    move: bool,
) -> Sorted:
    """Find a place for each photo, given the names of the folders of classes."""
    lines, photos, known = list(left), [], 0
    before = {
        (old, digest): new
        for run in read_journal(folder)
        if not run.moved
        for old, new, digest in run.photos
    }
    taken: dict[str, set[str]] = {}
    for answer in answers:
        digest = digest_of(answer.path)
        if isinstance(digest, OSError):
            lines.append(f"cannot read {answer.path}: {digest.strerror}")
            continue
        name = names[answer.label] if answer.label else UNSURE
        if name not in taken:
            taken[name] = _names_in(folder / name, folder)
        copy = before.get((str(answer.path), digest))
        copied = copy and not move and digest_of(folder / copy) == digest
        if copied or answer.path.parent == folder / name:
            known += 1
            continue
        file = free_file_name(answer.path.name, taken[name])
        taken[name].add(file.casefold())
        chance = answer.top[0][1]
        photos.append(Placed(answer.path, folder / name / file, answer.label, chance, digest))
    return Sorted(photos, lines, known, move)


def _names_in(place: Path, folder: Path) -> set[str]:
    """Return the names that are taken in a folder, or refuse what is none."""
    if place.exists() and not place.is_dir():
        raise ClsnetError(f"{place} is a file: a folder is needed there.")
    if not place.resolve().is_relative_to(folder):
        raise ClsnetError(f"{place} is a symbolic link that leads out of {folder}: remove it.")
    try:
        return {file.name.casefold() for file in place.iterdir()} if place.exists() else set()
    except OSError as error:
        raise ClsnetError(f"cannot read the folder {place}: {error.strerror}.") from None


def _do(folder: Path, plan: Sorted) -> None:
    """Write down what is to be done, and do it."""
    places = dict.fromkeys((photo.target.parent for photo in plan.photos), True)
    run = Run(
        now(),
        plan.moved,
        [place.name for place in places if not place.exists()],
        [
            (str(photo.source), str(PurePosixPath(*photo.target.parts[-2:])), photo.digest)
            for photo in plan.photos
        ],
    )
    runs = read_journal(folder)
    write_journal(folder, [*runs, run])
    put = move_to_free_place if plan.moved else copy_to_free_place
    for done, photo in enumerate(plan.photos):
        try:
            if places.pop(place := photo.target.parent, False):
                place.mkdir(exist_ok=True)
                sweep(place / COPY)
            put(photo.source, photo.target)
        except (OSError, KeyboardInterrupt) as error:
            so_far = f"{done} of {len(plan.photos)} photos were sorted"
            if done:
                so_far += f", and clsnet sort --undo {folder} puts them back"
            else:
                with suppress(ClsnetError):  # a full disk; the journal may say too much
                    undone(folder, runs, run)
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(f"{so_far}.") from None
            raise ClsnetError(f"{_failed(photo, plan.moved, error)}; {so_far}.") from None


def _failed(photo: Placed, moved: bool, error: OSError) -> str:
    """Tell which file could not be read, moved or written."""
    doing = f"write {photo.target}"
    if str(error.filename) == str(photo.source):
        to = f" to {photo.target}" if error.filename2 else ""  # either folder may be the reason
        doing = f"move {photo.source}{to}" if moved else f"read {photo.source}"
    return f"cannot {doing}: {error.strerror}"
