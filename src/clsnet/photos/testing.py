"""Testing a model on labelled photos."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from clsnet.errors import ClsnetError
from clsnet.header import read
from clsnet.images import Report
from clsnet.photos.class_names import nearest_class
from clsnet.photos.finding import Photo, find
from clsnet.photos.interval import wilson
from clsnet.photos.predicting import REJECT, Prediction, predict
from clsnet.photos.record import Counts, Record
from clsnet.storage.files import at_home

ALIKE = 0.75  # letters of a folder's and of a class's name, to call it nearly the same


@dataclass(frozen=True)
class Mistake:
    """A photo that was taken for another class.

    Attributes
    ----------
    path
        The photo.
    label, taken_for
        Its class, and the most probable one.
    probability
        The probability of that class.
    """

    path: Path
    label: str
    taken_for: str
    probability: float


@dataclass(frozen=True)
class Tested:
    """The result of a test on labelled photos.

    A photo is right if its class is the most probable one, even if it is rejected.

    Attributes
    ----------
    tested, right
        Number of photos of each class, and how many of them were right.
    rejected
        Number of photos of each class that are rejected as none of these.
    mistakes
        Photos that were taken for another class, the most confident mistakes first.
    unknown
        Number of photos in folders that are not classes of the model; they count nowhere else.
    unknown_rejected
        How many of these are rejected as none of these.
    learned
        How many of all photos the model has learned; on these it does better than on new ones.
    unreadable
        One line about each photo that cannot be read.
    warnings
        What was left out.
    nearest
        For folders that are not classes of the model, the class with nearly that name, if any.
    """

    tested: Counts
    right: Counts
    rejected: Counts
    mistakes: list[Mistake]
    unknown: Counts = field(default_factory=dict)
    unknown_rejected: Counts = field(default_factory=dict)
    learned: int = 0
    unreadable: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    nearest: dict[str, str] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of photos of known classes."""
        return sum(self.tested.values())

    @property
    def accuracy(self) -> float:
        """The share of them that are right."""
        return sum(self.right.values()) / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the accuracy on new photos of this kind."""
        return wilson(sum(self.right.values()), self.n)

    @property
    def balanced_accuracy(self) -> float:
        """The mean over classes of the share that is right (macro-averaged recall)."""
        shares = [self.right.get(label, 0) / n for label, n in self.tested.items()]
        return sum(shares) / len(shares)

    @property
    def confused(self) -> list[tuple[str, str, int]]:
        """Triples: a class, the class its photos were taken for, and their number; most first."""
        pairs = Counter((one.label, one.taken_for) for one in self.mistakes)
        return sorted(
            ((label, other, n) for (label, other), n in pairs.items()),
            key=lambda pair: (-pair[2], *pair[:2]),
        )


def test(
    model: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    reject: float = REJECT,
    page: str | os.PathLike[str] | None = None,
    report: Report | None = None,
    allow: str | Collection[str] = (),
) -> Tested:
    """Test a model on labelled photos.

    Parameters
    ----------
    model
        The file of the model.
    folder
        A folder that holds one folder of photos for each class.
    reject
        As for `predict`; it changes only which photos are rejected as none of these.
    page
        A file to write: a self-contained page with the photos that were confused.
    report
        Called as `report(stage, done, total)`, in photos.
    allow
        Networks that the file may refer to, such as ``"hf:NAME"``; see `clsnet.load`.

    Examples
    --------
    >>> from clsnet import photos
    >>> photos.test("/tmp/there-is-none.clsnet", "photos")
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: cannot read /tmp/there-is-none.clsnet: No such file or directory.
    """
    if page is not None and not str(page).lower().endswith((".html", ".htm")):
        raise ClsnetError(f"{page} is not the name of a page: let it end with .html.")
    header, _ = read(at_home(model))
    found = find(Path(folder), report)
    if not found.photos:
        said = "".join(f" {line}." for line in [*found.unreadable, *found.warnings][:1])
        raise ClsnetError(f"there is no photo in {folder}.{said}")
    answers = predict(
        model, [photo.path for photo in found.photos], reject=reject, report=report, allow=allow
    )
    record = Record.of(header.get("notes", {}))
    learned = {digest for digests in record.digests.values() for digest in digests}
    pairs = list(zip(found.photos, answers, strict=True))
    good = [(photo, answer) for photo, answer in pairs if not answer.unreadable]
    unreadable = [answer.unreadable for answer in answers if answer.unreadable]
    tested = _tested(
        [pair for pair in good if pair[0].label in header["labels"]],
        [pair for pair in good if pair[0].label not in header["labels"]],
        sum(photo.digest in learned for photo, _ in good),
        [*found.unreadable, *unreadable],
        found.warnings,
    )
    nearest = {name: nearest_class(name, header["labels"], ALIKE) for name in tested.unknown}
    tested = replace(tested, nearest={name: near for name, near in nearest.items() if near})
    if page is not None:
        from clsnet.photos.testing_page import write_page

        write_page(tested, at_home(page), Path(model).name, Path(folder).name)
    return tested


def _tested(
    known: list[tuple[Photo, Prediction]],
    strange: list[tuple[Photo, Prediction]],
    learned: int,
    unreadable: list[str],
    warnings: list[str],
) -> Tested:
    """Return the counts, given photos and what they were taken for."""
    mistakes = [
        Mistake(photo.path, photo.label, *answer.top[0])
        for photo, answer in known
        if answer.top[0][0] != photo.label
    ]
    return Tested(
        tested=dict(Counter(photo.label for photo, _ in known)),
        right=dict(Counter(p.label for p, answer in known if answer.top[0][0] == p.label)),
        rejected=dict(Counter(p.label for p, answer in known if answer.label is None)),
        mistakes=sorted(mistakes, key=lambda one: (-one.probability, one.path)),
        unknown=dict(Counter(photo.label for photo, _ in strange)),
        unknown_rejected=dict(Counter(p.label for p, answer in strange if answer.label is None)),
        learned=learned,
        unreadable=unreadable,
        warnings=warnings,
    )
