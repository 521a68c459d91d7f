"""Merging models that learned separately."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from clsnet.arrays.blas import one_blas_thread
from clsnet.classifier.moving import in_task_order
from clsnet.errors import ClsnetError
from clsnet.model import Model
from clsnet.photos.class_names import known_class, new_class
from clsnet.photos.moving import without_classes
from clsnet.photos.noting import with_expectation
from clsnet.photos.predicting import of_photos
from clsnet.photos.record import Counts, Record
from clsnet.photos.second_look import told_shared
from clsnet.photos.versions import changing, put_in_order, save
from clsnet.photos.wording import many
from clsnet.storage.files import at_home

Names = Mapping[str, str]


@dataclass(frozen=True)
class Merged:
    """What `merge` wrote.

    Attributes
    ----------
    path
        The file.
    counts
        Photos of each class.
    shared
        Number of photos that several models had learned; they count once.
    warnings
        Lines about what may be a mistake.
    """

    path: Path
    counts: Counts
    shared: int
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Part:
    """A model to merge, and what to call it in a message."""

    name: str
    model: Model

    @property
    def record(self) -> Record:
        """What it notes."""
        return Record.of(self.model.notes or {})

    @property
    def photos(self) -> dict[str, set[str]]:
        """The digests of each class."""
        return {label: {*digests} for label, digests in self.record.digests.items()}

    @property
    def retain(self) -> str:
        """What it keeps."""
        return self.model.classifier.rule.retain


def merge(
    models: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    rename: Mapping[str, Names] | None = None,
    overwrite: bool = False,
    say: Callable[[str], None] | None = None,
    allow: str | Collection[str] = (),
) -> Merged:
    """Write the model that would have learned the photos of all models, exactly.

    Sums add up, so no photo is needed, and the models themselves do not change. Classes of the same
    name become one. If two models learned the same photos of a class, and one of them learned no
    others, these photos count once. If both also learned others, the sums cannot separate them, and
    the models are refused.

    Parameters
    ----------
    models
        Files of two or more models with the same network and settings.
    out
        The file to write.
    rename
        New names of classes for some of the files, which are named as in `models`.
    overwrite
        Whether `out` may exist already; its previous version is kept for `undo`.
    say
        Called with one line of text when another process has to be waited for.
    allow
        Networks that the files may refer to, such as ``"hf:NAME"``; see `clsnet.load`.

    Examples
    --------
    >>> from clsnet.photos import merge
    >>> merge(["shop.clsnet", "shop.clsnet"], "both.clsnet")
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: shop.clsnet is given twice; name two models or more.
    """
    files = [at_home(model) for model in models]
    _check_files(files)
    names = {at_home(model).resolve(): new for model, new in (rename or {}).items()}
    if strange := names.keys() - {file.resolve() for file in files}:
        raise ClsnetError(f"{min(strange)} is in --rename, but is not one of the models to merge.")
    _check_out(at_home(out), files, overwrite)
    with changing(Path(out), say) as path, one_blas_thread():
        _check_out(path, files, overwrite)  # somebody may have written it while this one waited
        parts = [_read(file, names.get(file.resolve(), {}), allow) for file in files]
        whole = _in_order(functools.reduce(_merged, parts).model)
        save(with_expectation(whole), path)
    known = whole.classifier
    counts = {
        str(label): sum(task.counts.get(label, 0) for task in known.tasks) for label in known.labels
    }
    before = sum(task.n_samples for part in parts for task in part.model.classifier.tasks)
    return Merged(path, counts, before - sum(counts.values()), _conflicts(parts))


def _check_files(files: Sequence[Path]) -> None:
    for file in files:
        if not file.exists() and files.count(file) == 1:
            raise ClsnetError(f"there is no model {file}.")
    times = Counter(file.resolve() for file in files)
    twice = [file for file in files if times[file.resolve()] > 1]
    if twice or len(files) < 2:
        told = f"{twice[0]} is given twice; " if twice else ""
        raise ClsnetError(f"{told}name two models or more.")


def _check_out(out: Path, files: Sequence[Path], overwrite: bool) -> None:
    if overwrite or not out.exists():
        return
    if out.resolve() in [file.resolve() for file in files]:
        raise ClsnetError(f"{out} is one of the models to merge: name another file.")
    raise ClsnetError(f"{out} exists already: name another file, or add --overwrite.")


def _read(file: Path, names: Names, allow: str | Collection[str]) -> Part:
    """Read a model and rename its classes."""
    put_in_order(file)
    model = of_photos(file, allow)
    if "photos" not in (model.notes or {}):
        raise ClsnetError(f"{file} was not made by clsnet learn.")
    record = Record.of(model.notes or {})
    counts = Counter({label: len(digests) for label, digests in record.digests.items()})
    if counts != sum((Counter(task.counts) for task in model.classifier.tasks), Counter()):
        raise ClsnetError(f"{file} does not list all photos that it learned: it cannot be merged.")
    if not names:
        return Part(str(file), model)
    new = {known_class(old, model.classes, who=file): new_class(new) for old, new in names.items()}
    return Part(str(file), replace(model.renamed(new), notes=record.renamed(new).notes))


def _merged(one: Part, other: Part) -> Part:
    """Return both as one; photos of both count once."""
    if one.retain != other.retain:
        raise ClsnetError(
            f"{one.name} was made with --keep {one.retain}, {other.name} with --keep "
            f"{other.retain}: only models that keep the same can be merged."
        )
    difference = one.model.extractor.difference(other.model.extractor)
    if difference:
        raise ClsnetError(f"{one.name} and {other.name} have different {difference}.")
    name = f"{one.name} with {other.name}"
    if one.retain == "total":
        shared = _overlap(one.photos, other.photos)
        if shared == _pairs(other.photos) and shared:
            return Part(name, one.model)
        if shared == _pairs(one.photos) and shared:
            return Part(name, other.model)
        if shared:
            raise _inseparable(one, other, len(shared), "")
    else:
        one, other = _without_shared(one, other)
    whole = one.model.merged(other.model)
    record = Record.merged([one.record, other.record])
    tasks = whole.classifier.tasks
    history = [*one.record.history, *other.record.history]
    if len(history) == len(tasks):  # in the order of the history, whichever model comes first
        order = sorted(range(len(tasks)), key=lambda i: history[i].order())
        tasks = [tasks[i] for i in order]
    classifier = replace(whole.classifier, tasks=tasks)
    return Part(name, replace(whole, classifier=classifier, notes=record.notes))


def _without_shared(one: Part, other: Part) -> tuple[Part, Part]:
    """Leave out a class of the model whose photos of it are all in the other one."""
    out_of_one, out_of_other = [], []
    mine, theirs = one.photos, other.photos
    for label in mine.keys() & theirs.keys():
        shared = mine[label] & theirs[label]
        if not shared:
            continue
        if shared == theirs[label]:
            out_of_other.append(label)
        elif shared == mine[label]:
            out_of_one.append(label)
        else:
            raise _inseparable(one, other, len(shared), f" of {label}")
    return _less(one, out_of_one), _less(other, out_of_other)


def _less(part: Part, classes: list[str]) -> Part:
    return replace(part, model=without_classes(part.model, classes)) if classes else part


def _inseparable(one: Part, other: Part, n: int, what: str) -> ClsnetError:
    return ClsnetError(
        f"{one.name} and {other.name} share {many(n, 'photo')}{what}, and each has learned others "
        "besides: sums cannot count the shared photos once. Take these out of one of the models "
        f"first (clsnet forget {other.name} --photo PATH)."
    )


def _pairs(photos: Mapping[str, set[str]]) -> set[tuple[str, str]]:
    return {(label, digest) for label, digests in photos.items() for digest in digests}


def _overlap(one: Mapping[str, set[str]], other: Mapping[str, set[str]]) -> set[tuple[str, str]]:
    return _pairs(one) & _pairs(other)


def _in_order(model: Model) -> Model:
    """Return the model with classes in the order of the history, and weights."""
    return replace(model, classifier=in_task_order(model.classifier)).consolidated()


def _conflicts(parts: Sequence[Part]) -> list[str]:
    """Return warnings about pairs of classes of two models with the same photos."""
    owners: dict[str, list[set[str]]] = {}
    for part in parts:
        held: dict[str, set[str]] = {}
        for label, digest in _pairs(part.photos):
            held.setdefault(digest, set()).add(label)
        for digest, labels in held.items():
            owners.setdefault(digest, []).append(labels)
    pairs = Counter(
        (a, b)
        for groups in owners.values()
        for a in set().union(*groups)
        for b in set().union(*groups)
        if a < b and not any({a, b} <= group for group in groups)
    )
    return told_shared(pairs)
